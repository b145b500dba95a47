import type { Plan } from '@orrery/contract';
import { useChainTitle } from '../api/chains.js';
import { usePlan } from '../api/queries.js';
import { stepText } from '../format/operation.js';
import { EmptyState } from '../ui/states.js';
import classes from './plan-parts.module.css';
import { changesWithoutPath } from './without-path-change.js';

const CHANGES = [
  ['added', '+', 'starts'],
  ['removed', '−', 'stops'],
  ['moved', '→', 'moves'],
  ['reconfigured', '~', 'is reconfigured'],
] as const;

export function changesOf(plan: Plan): number {
  return CHANGES.reduce((sum, [kind]) => sum + plan.diff[kind].length, 0);
}

/** The steps of the plan in order, and its changes to what runs. */
export function PlanChanges({ plan }: { readonly plan: Plan }) {
  const titleOf = useChainTitle();
  const changed = CHANGES.flatMap(([kind, sign, verb]) => plan.diff[kind].map((id) => ({ id, sign, verb, kind })));
  const { data: base } = usePlan(plan.base_plan);
  const judged = base ? changesWithoutPath(plan, base, titleOf) : [];
  if (plan.steps.length === 0 && changed.length === 0 && plan.feasible && judged.length > 0)
    return (
      <EmptyState title="No packet path changes">
        <ul className={classes.plain}>
          {judged.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </EmptyState>
    );
  if (plan.steps.length === 0 && changed.length === 0)
    return (
      <EmptyState title="Nothing would change">
        {plan.feasible ? 'What runs is what the plan asks for.' : 'The plan is not feasible; what runs stays as it is.'}
      </EmptyState>
    );
  return (
    <>
      <h2 className={classes.subtitle}>Steps</h2>
      <ol className={classes.steps} aria-label="Steps">
        {plan.steps.map((step) => (
          <li key={step.ordinal}>
            <span className={classes.ordinal}>{step.ordinal + 1}</span>
            <span>{stepText(step)}</span>
            <span className="muted">
              {step.interrupts.length === 0
                ? 'interrupts nothing'
                : `may interrupt ${step.interrupts.map((id) => titleOf(id)).join(', ')}`}
            </span>
          </li>
        ))}
      </ol>
      <h2 className={classes.subtitle}>
        {changed.length === 0 ? 'No instance changes' : 'Instances that change'}
        {plan.diff.kept.length > 0 && (
          <span className="muted">
            {' '}
            · {plan.diff.kept.length === 1 ? 'one unchanged' : `${plan.diff.kept.length} unchanged`}
          </span>
        )}
      </h2>
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
      <Migrations plan={plan} />
    </>
  );
}

function Migrations({ plan }: { readonly plan: Plan }) {
  if (plan.migrations.length === 0) return null;
  return (
    <>
      <h2 className={classes.subtitle}>Flow state that moves</h2>
      <ul className={classes.diff} aria-label="Migrations">
        {plan.migrations.map(({ from, from_server, to, to_server }) => (
          <li key={`${from}${to}`}>
            <code>{from}</code> <span className="muted">on {from_server} to</span> <code>{to}</code>{' '}
            <span className="muted">on {to_server}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
