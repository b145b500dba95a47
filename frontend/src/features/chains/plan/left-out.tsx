import type { Plan, PlanPart } from '@orrery/contract';
import classes from './plan.module.css';

/** What the plan has left out of a part of its analysis for the chain. */
export function leftOutOf(plan: Plan, part: PlanPart, pipelineId: string): Plan['reasons'] {
  const name = plan.pipelines.find(({ pipeline_id }) => pipeline_id === pipelineId)?.definition.name;
  return plan.reasons.filter(
    (reason) =>
      reason.part === part &&
      reason.decision === 'left out' &&
      (reason.subject === pipelineId || reason.subject.startsWith(`${name}.`)),
  );
}

interface LeftOutProps {
  readonly plan: Plan;
  readonly part: PlanPart;
  readonly pipelineId: string;
}

/** Says so where something of the chain is missing, with the reason; nothing where all is there. */
export function LeftOut({ plan, part, pipelineId }: LeftOutProps) {
  const all = leftOutOf(plan, part, pipelineId);
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
