import type { Plan, PlanPart } from '@orrery/contract';
import classes from './plan.module.css';

/** What the plan omitted from a part of its analysis of the chain. */
export function leftOutOf(plan: Plan, part: PlanPart, chainId: string): Plan['reasons'] {
  const name = plan.chains.find(({ chain_id }) => chain_id === chainId)?.definition.name;
  return plan.reasons.filter(
    (reason) =>
      reason.part === part &&
      reason.decision === 'left out' &&
      (reason.subject === chainId || reason.subject.startsWith(`${name}.`)),
  );
}

interface LeftOutProps {
  readonly plan: Plan;
  readonly part: PlanPart;
  readonly chainId: string;
}

/** Notice with the reason if part of the analysis is missing; otherwise nothing. */
export function LeftOut({ plan, part, chainId }: LeftOutProps) {
  const all = leftOutOf(plan, part, chainId);
  if (all.length === 0) return null;
  const reasons = [...new Set(all.map(({ because }) => because))];
  return (
    <p className={classes.warning} role="status">
      {all.length === 1
        ? 'One part of this chain is left out here.'
        : `${all.length} parts of this chain are left out here.`}{' '}
      {reasons.join(' ')}
    </p>
  );
}
