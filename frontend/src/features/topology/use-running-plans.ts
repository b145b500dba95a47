import type { Deployment, Plan } from '@orrery/contract';
import { useQueries } from '@tanstack/react-query';
import { storedPlanQuery } from '../../shared/api/queries.js';

/** The plans by which chains run, as far as they are known: usually one. */
export function useRunningPlans(deployments: readonly Deployment[] | undefined): readonly Plan[] {
  const ids = [...new Set(deployments?.map(({ plan_id }) => plan_id))];
  return useQueries({
    queries: ids.map((id) => storedPlanQuery(id)),
    combine: knownPlans,
  });
}

function knownPlans(results: readonly { readonly data: Plan | undefined }[]): readonly Plan[] {
  return results.flatMap(({ data }) => data ?? []);
}
