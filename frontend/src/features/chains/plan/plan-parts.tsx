import type { Constraint, Plan, Reason } from '@orrery/contract';
import { IconCheck, IconX } from '@tabler/icons-react';
import { useChainTitle } from '../../../shared/api/chains.js';
import { type Quantity, quantityText } from '../../../shared/format/quantity.js';
import { EmptyState } from '../../../shared/ui/states.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import { ownFirst, splitReasons } from './own-first.js';
import classes from './plan.module.css';

const UNITS: Record<string, Quantity> = { bps: 'bps', us: 'us', bytes: 'bytes', pps: 'pps' };

function amount(value: number, unit: string): string {
  const quantity = UNITS[unit];
  return quantity ? quantityText(quantity, value) : `${Number(value.toPrecision(3))} ${unit}`;
}

/** Cores to two digits; a trace of load is not nothing. */
export function coresText(cores: number): string {
  return cores > 0 && cores < 0.01 ? '< 0.01' : cores.toFixed(2);
}

function constraintText(constraint: Constraint): string {
  const { constraint: name, needed, available, unit, where } = constraint;
  return `${name} on ${where}: needs ${amount(needed, unit)}, has ${amount(available, unit)}`;
}

/** Why there is no plan: problems of pipelines, and what could not be met. */
export function PlanProblems({ plan }: { readonly plan: Plan }) {
  if (plan.problems.length + plan.conflicts.length === 0) return null;
  return (
    <ul className={classes.problems} role={plan.feasible ? undefined : 'alert'}>
      {plan.conflicts.map((conflict) => (
        <li key={`${conflict.constraint}${conflict.where}`}>{constraintText(conflict)}</li>
      ))}
      {plan.problems.map((problem) => (
        <li key={`${problem.pipeline_id}${problem.pointer}${problem.message}`} data-severity={problem.severity}>
          {problem.message} <code>{problem.pointer}</code>
        </li>
      ))}
    </ul>
  );
}

/** Cost against the bound that no placement can beat. */
export function CostFigures({ plan }: { readonly plan: Plan }) {
  const { cost } = plan;
  const above = cost.cross_traffic_bps - cost.lower_bound_bps;
  return (
    <dl className={classes.cost}>
      <div>
        <dt>Over the switch</dt>
        <dd>{quantityText('bps', cost.cross_traffic_bps)}</dd>
        <dd className="muted">
          {cost.lower_bound_bps > 0
            ? `bound ${quantityText('bps', cost.lower_bound_bps)}${above > 0 ? `, ${((above / cost.lower_bound_bps) * 100).toFixed(0)} % above` : ', reached'}`
            : above > 0
              ? 'bound 0'
              : 'bound 0, reached'}
        </dd>
      </div>
      <div>
        <dt>Traffic in all</dt>
        <dd>{quantityText('bps', cost.total_traffic_bps)}</dd>
      </div>
      <div>
        <dt>Cores</dt>
        <dd>
          {coresText(cost.cores_used)} of {cost.cores_available}
        </dd>
      </div>
      <div>
        <dt>Instances</dt>
        <dd>{plan.instances.length}</dd>
      </div>
    </dl>
  );
}

interface OfChainProps {
  readonly plan: Plan;
  /** The chain that is planned: what concerns it comes first. */
  readonly pipelineId: string;
}

/** Each decision with its candidates; the rejected ones say which constraint bound. */
export function Reasons({ plan, pipelineId }: OfChainProps) {
  if (plan.reasons.length === 0) return <EmptyState title="Nothing had to be decided" />;
  const { own, others } = splitReasons(plan, pipelineId);
  return (
    <>
      <ReasonList reasons={own} />
      {others.length > 0 && (
        <details className={classes.others}>
          <summary>
            {others.length === 1 ? 'One decision' : `${others.length} decisions`} on NFs of other chains
          </summary>
          <ReasonList reasons={others} />
        </details>
      )}
    </>
  );
}

function ReasonList({ reasons }: { readonly reasons: readonly Reason[] }) {
  return (
    <ul className={classes.reasons}>
      {reasons.map((reason) => (
        <li key={`${reason.subject}${reason.decision}`}>
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
  return (
    <table className="table" aria-label={`Candidates for ${reason.subject}`}>
      <thead>
        <tr>
          <th>Candidate</th>
          <th className="number">Cost</th>
          <th>Verdict</th>
        </tr>
      </thead>
      <tbody>
        {reason.candidates.map((candidate) => (
          <tr key={candidate.name} data-selected={candidate.chosen || undefined}>
            <td>{candidate.name}</td>
            <td className="number">{candidate.figure === null ? '' : amount(candidate.figure, candidate.unit)}</td>
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

const CHANGES = [
  ['added', '+', 'starts'],
  ['removed', '−', 'stops'],
  ['moved', '→', 'moves'],
  ['reconfigured', '~', 'is reconfigured'],
] as const;

/** What will be done in which order, and what it changes about what runs. */
export function PlanChanges({ plan }: { readonly plan: Plan }) {
  const changed = CHANGES.flatMap(([kind, sign, verb]) => plan.diff[kind].map((id) => ({ id, sign, verb, kind })));
  return (
    <>
      <ol className={classes.steps} aria-label="Steps">
        {plan.steps.map((step) => (
          <li key={step.ordinal}>
            <span className={classes.ordinal}>{step.ordinal + 1}</span>
            <span>{step.summary}</span>
            <span className="muted">
              {step.interrupts.length === 0 ? 'interrupts nothing' : `may interrupt ${step.interrupts.join(', ')}`}
            </span>
          </li>
        ))}
      </ol>
      <h3 className={classes.subtitle}>
        {changed.length === 0 ? 'No instance changes' : 'Instances that change'}
        {plan.diff.kept.length > 0 && <span className="muted"> · {plan.diff.kept.length} stay as they are</span>}
      </h3>
      <ul className={classes.diff} aria-label="Changes">
        {changed.map(({ id, sign, verb, kind }) => (
          <li key={`${kind}${id}`} data-kind={kind}>
            <span className={classes.sign} aria-hidden>
              {sign}
            </span>
            <code>{id}</code> <span className="muted">{verb}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** What each objective is expected to be, and by which model. */
export function Predictions({ plan, pipelineId }: OfChainProps) {
  const titleOf = useChainTitle();
  if (plan.slos.length === 0) return <EmptyState title="No objectives to predict" />;
  return (
    <table className="table" aria-label="Predicted objectives">
      <thead>
        <tr>
          <th>Chain</th>
          <th>Objective</th>
          <th>Prediction</th>
          <th className="number">Target</th>
          <th className="number">Predicted</th>
          <th>Model</th>
        </tr>
      </thead>
      <tbody>
        {ownFirst(plan.slos, pipelineId).map((slo) => (
          <tr key={`${slo.pipeline_id}${slo.slo_id}`}>
            <td>{titleOf(slo.pipeline_id)}</td>
            <td>{slo.slo_id}</td>
            <td>
              <StatusBadge state={slo.met ? 'met' : 'violated'} label={slo.met ? 'will be met' : 'will be missed'} />
            </td>
            <td className="number">{quantityText(slo.unit, slo.target)}</td>
            <td className="number">{quantityText(slo.unit, slo.predicted)}</td>
            <td className="muted">{slo.model}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
