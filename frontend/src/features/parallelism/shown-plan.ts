import type { ParallelForm, Plan } from '@orrery/contract';
import type { KnownChain } from './use-chains.js';

/** The plan by which the parallel form of a chain is shown. */
export interface ShownPlan {
  readonly plan: Plan;
  /** The chain runs by it; otherwise it would if it were deployed so. */
  readonly runs: boolean;
  readonly forms: readonly ParallelForm[];
}

/** The plan that a chain runs by if that is in parallel, else a trial in parallel, else what there is. */
export function shownPlan({ row, plan, in: of }: KnownChain): ShownPlan | null {
  const trial = of.parallel.plan?.feasible ? of.parallel.plan : undefined;
  const found = row.execution === 'parallel' ? plan : (trial ?? plan);
  if (!found) return null;
  return {
    plan: found,
    runs: found === plan,
    forms: found.parallel.filter(({ chain_id }) => chain_id === row.id),
  };
}
