import type { ChainDefinition } from '@orrery/contract';
import { useQueries } from '@tanstack/react-query';
import { useCallback } from 'react';
import { storedPlanQuery, useChains, useDeployments } from '../api/queries.js';

/** The definition by which a chain runs, by its id; the draft of one that does not run, or whose plan is not known yet. */
export function useDefinitions(): (chainId: string) => ChainDefinition | undefined {
  const { data: chains } = useChains();
  const { data: deployments } = useDeployments();
  const ids = [...new Set(deployments?.map(({ plan_id }) => plan_id))];
  const running = useQueries({
    queries: ids.map((id) => storedPlanQuery(id)),
    combine: (results) =>
      new Map(
        deployments?.flatMap(({ chain_id, plan_id }) => {
          const planned = results[ids.indexOf(plan_id)]?.data?.chains.find((chain) => chain.chain_id === chain_id);
          return planned ? [[chain_id, planned.definition]] : [];
        }),
      ),
  });
  return useCallback((id) => running.get(id) ?? chains?.find((chain) => chain.id === id)?.draft, [running, chains]);
}
