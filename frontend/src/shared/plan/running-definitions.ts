import type { ChainDefinition, Plan } from '@orrery/contract';
import { type UseQueryResult, useQueries } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { storedPlanQuery, useChains, useDeployments } from '../api/queries.js';

/** Tells the definition by which a chain runs, by its id, and is the same until one changes; the draft of one that does not run, or whose plan is not known yet. */
export function useDefinitions(): (chainId: string) => ChainDefinition | undefined {
  const { data: chains } = useChains();
  const { data: deployments } = useDeployments();
  const ids = useMemo(() => [...new Set(deployments?.map(({ plan_id }) => plan_id))], [deployments]);
  // The same function for the same deployments: another would make the definitions anew with each render.
  const combine = useCallback(
    (results: UseQueryResult<Plan>[]) =>
      new Map(
        deployments?.flatMap(({ chain_id, plan_id }) => {
          const planned = results[ids.indexOf(plan_id)]?.data?.chains.find((chain) => chain.chain_id === chain_id);
          return planned ? [[chain_id, planned.definition] as const] : [];
        }),
      ),
    [deployments, ids],
  );
  const running = useQueries({ queries: ids.map((id) => storedPlanQuery(id)), combine });
  return useCallback((id) => running.get(id) ?? chains?.find((chain) => chain.id === id)?.draft, [running, chains]);
}
