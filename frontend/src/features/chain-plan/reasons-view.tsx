import type { Plan, Reason } from '@orrery/contract';
import { IconCheck, IconX } from '@tabler/icons-react';
import { candidateFigure, constraintText } from '../../shared/plan/plan-text.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { EmptyState } from '../../shared/ui/states.js';
import classes from './plan.module.css';
import { reasonsByPart } from './quality.js';

interface ReasonsProps {
  readonly plan: Plan;
  /** The chain that is planned: what concerns it comes first. */
  readonly chainId: string;
}

/** Each decision with its candidates, by planning part; rejected ones show the binding constraint. */
export function Reasons({ plan, chainId }: ReasonsProps) {
  const groups = reasonsByPart(plan, chainId);
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
    <DataTable
      label={`Candidates for ${reason.subject}`}
      columns={figures ? [CANDIDATE, COST, VERDICT] : [CANDIDATE, VERDICT]}
      rows={reason.candidates}
      rowKey={({ name }) => name}
      dataOf={({ chosen }) => ({ 'data-selected': chosen || undefined })}
    />
  );
}

type Candidate = Reason['candidates'][number];

const CANDIDATE: Column<Candidate> = { id: 'candidate', title: 'Candidate', value: ({ name }) => name };
const COST: Column<Candidate> = {
  id: 'cost',
  title: 'Cost',
  number: true,
  value: ({ figure }) => figure,
  cell: candidateFigure,
};
const VERDICT: Column<Candidate> = {
  id: 'verdict',
  title: 'Verdict',
  value: ({ chosen, feasible }) => (chosen ? 'chosen' : feasible ? 'possible' : 'rejected'),
  cell: (candidate) => <Verdict candidate={candidate} />,
};

function Verdict({ candidate: { chosen, feasible, constraint } }: { readonly candidate: Candidate }) {
  if (chosen)
    return (
      <span className={classes.verdict}>
        <IconCheck size={13} aria-hidden /> chosen
      </span>
    );
  if (feasible) return 'possible';
  return (
    <span className={classes.verdict} data-no>
      <IconX size={13} aria-hidden />
      {constraint ? constraintText(constraint) : 'not possible'}
    </span>
  );
}
