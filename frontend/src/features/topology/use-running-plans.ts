import type { Deployment, Plan } from '@orrery/contract';
import { useQueries } from '@tanstack/react-query';
import { storedPlanQuery } from '../../shared/api/queries.js';

interface RunningPlans {
  /** As far as they are known: usually one. */
  readonly plans: readonly Plan[];
  /** Some are still being read. */
  readonly isPending: boolean;
}

/** The plans by which chains run. */
export function useRunningPlans(deployments: readonly Deployment[] | undefined): RunningPlans {
  const ids = [...new Set(deployments?.map(({ plan_id }) => plan_id))];
  return useQueries({
    queries: ids.map((id) => storedPlanQuery(id)),
    combine: knownPlans,
  });
}

type Result = { readonly data: Plan | undefined; readonly isPending: boolean };

function knownPlans(results: readonly Result[]): RunningPlans {
  return { plans: results.flatMap(({ data }) => data ?? []), isPending: results.some(({ isPending }) => isPending) };
}
