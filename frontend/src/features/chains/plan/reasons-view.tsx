import type { Plan, Reason } from '@orrery/contract';
import { IconCheck, IconX } from '@tabler/icons-react';
import { candidateFigure, constraintText } from '../../../shared/plan/plan-text.js';
import { EmptyState } from '../../../shared/ui/states.js';
import classes from './plan.module.css';
import { reasonsByPart } from './quality.js';

interface ReasonsProps {
  readonly plan: Plan;
  /** The chain that is planned: what concerns it comes first. */
  readonly pipelineId: string;
}

/** Each decision with its candidates, by the part that took it; the rejected ones say which constraint bound. */
export function Reasons({ plan, pipelineId }: ReasonsProps) {
  const groups = reasonsByPart(plan, pipelineId);
  if (groups.length === 0) return <EmptyState title="Nothing had to be decided" />;
  return (
    <div className={classes.groups}>
      {groups.map(({ part, title, own, others }) => (
        <section key={part} aria-labelledby={`reasons-${part}`}>
          <h2 id={`reasons-${part}`} className={classes.subtitle}>
            {title} <span className="muted">{own.length + others.length}</span>
          </h2>
          {own.length > 0 && <ReasonList reasons={own} />}
          {others.length > 0 && (
            <details className={classes.others}>
              <summary>{others.length === 1 ? 'One decision' : `${others.length} decisions`} on other chains</summary>
              <ReasonList reasons={others} />
            </details>
          )}
        </section>
      ))}
    </div>
  );
}

export function ReasonList({ reasons }: { readonly reasons: readonly Reason[] }) {
  return (
    <ul className={classes.reasons}>
      {reasons.map((reason) => (
        <li key={`${reason.part}${reason.subject}${reason.decision}`}>
          <div>
            <code>{reason.subject}</code> <strong>{reason.decision}</strong>
          </div>
          <p>{reason.because}</p>
          {reason.constraint && <p className={classes.binding}>Bound by {constraintText(reason.constraint)}.</p>}
          {reason.candidates.length > 0 && <Candidates reason={reason} />}
        </li>
      ))}
    </ul>
  );
}

function Candidates({ reason }: { readonly reason: Reason }) {
  const figures = reason.candidates.some(({ figure }) => figure !== null);
  return (
    <table className="table" aria-label={`Candidates for ${reason.subject}`}>
      <thead>
        <tr>
          <th>Candidate</th>
          {figures && <th className="number">Cost</th>}
          <th>Verdict</th>
        </tr>
      </thead>
      <tbody>
        {reason.candidates.map((candidate) => (
          <tr key={candidate.name} data-selected={candidate.chosen || undefined}>
            <td>{candidate.name}</td>
            {figures && <td className="number">{candidateFigure(candidate)}</td>}
            <td>
              {candidate.chosen ? (
                <span className={classes.verdict}>
                  <IconCheck size={13} aria-hidden /> chosen
                </span>
              ) : candidate.feasible ? (
                'possible'
              ) : (
                <span className={classes.verdict} data-no>
                  <IconX size={13} aria-hidden />
                  {candidate.constraint ? constraintText(candidate.constraint) : 'not possible'}
                </span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
