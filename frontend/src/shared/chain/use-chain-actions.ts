import type { Chain, ChainDefinition, DeployRequest, Operation } from '@orrery/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call } from '../api/client.js';
import { notifyError } from '../ui/notify.js';

/** Queries whose answers change when a chain is deployed or taken down. */
export const CHANGED_BY_DEPLOYING = ['deployments', 'operations', 'chains', 'nf-instances'];

/** Actions on whole chains. On failure each notifies the user and resolves to null. */
export function useChainActions() {
  const queries = useQueryClient();
  return useMemo(() => {
    const attempt = async <T>(title: string, work: () => Promise<T>, changed: readonly string[]): Promise<T | null> => {
      try {
        return await work();
      } catch (error) {
        notifyError(title, error);
        return null;
      } finally {
        for (const key of changed) void queries.invalidateQueries({ queryKey: [key] });
      }
    };
    const key = () => ({ idempotencyKey: crypto.randomUUID() });
    return {
      create: (definition: ChainDefinition): Promise<Chain | null> =>
        attempt('The chain was not created', () => call('createChain', { body: definition }, key()), ['chains']),
      deploy: (body: DeployRequest): Promise<Operation | null> =>
        attempt('Not deployed', () => call('createDeployment', { body }, key()), CHANGED_BY_DEPLOYING),
      undeploy: (id: string): Promise<Operation | null> =>
        attempt('Not taken down', () => call('deleteDeployment', { params: { chain_id: id } }), CHANGED_BY_DEPLOYING),
      remove: (id: string): Promise<true | null> =>
        attempt('Not deleted', () => call('deleteChain', { params: { id } }).then(() => true as const), ['chains']),
    };
  }, [queries]);
}
