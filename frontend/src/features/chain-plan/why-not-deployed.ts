import type { Plan } from '@orrery/contract';
import { changesWithoutPath } from '../../shared/plan/without-path-change.js';

interface Situation {
  /** Undefined: it is being made. */
  readonly plan: Pick<Plan, 'feasible' | 'steps' | 'chains' | 'base_plan'> | undefined;
  /** The plan that it builds on; undefined: not known (yet). */
  readonly base: Pick<Plan, 'chains'> | undefined;
  readonly mayOperate: boolean;
  readonly deleted: boolean;
}

/** Why the plan cannot be deployed; null: it can. A plan without steps can, if it changes what is judged. */
export function whyNotDeployed({ plan, base, mayOperate, deleted }: Situation): string | null {
  if (!mayOperate) return 'Deploying needs the role operator.';
  if (deleted) return 'The chain has been deleted.';
  if (!plan) return 'The plan is being made.';
  if (!plan.feasible) return 'The plan is not feasible; the page says why.';
  if (plan.steps.length > 0 || plan.base_plan === null) return null;
  if (!base) return 'The plan is being compared with what runs.';
  const known = new Set(base.chains.map(({ chain_id }) => chain_id));
  const isNew = plan.chains.some(({ chain_id }) => !known.has(chain_id));
  return isNew || changesWithoutPath(plan, base, (id) => id).length > 0 ? null : 'This plan is already deployed.';
}
