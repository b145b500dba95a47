import type { Chain, ChainDefinition, DeployRequest, Operation } from '@orrery/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { ApiError, call } from '../api/client.js';
import { notifyError } from '../ui/notify.js';

/** Queries whose answers change when a chain is deployed or taken down. */
export const CHANGED_BY_DEPLOYING = ['deployments', 'operations', 'chains', 'nf-instances'];

/** Whether a plan was refused because something else was accepted since it was made. */
export const isOvertaken = (error: unknown): boolean =>
  error instanceof ApiError && error.errors.some(({ code }) => code === 'stale-plan');

/** Actions on whole chains. On failure each notifies the user and resolves to null. */
export function useChainActions() {
  const queries = useQueryClient();
  return useMemo(() => {
    const attempt = async <T>(
      title: string,
      work: () => Promise<T>,
      changed: readonly string[],
      planAgain?: () => void,
    ): Promise<T | null> => {
      try {
        return await work();
      } catch (error) {
        const again = planAgain && isOvertaken(error) ? { label: 'Plan again', run: planAgain } : undefined;
        notifyError(title, error, again);
        return null;
      } finally {
        for (const key of changed) void queries.invalidateQueries({ queryKey: [key] });
      }
    };
    const key = () => ({ idempotencyKey: crypto.randomUUID() });
    return {
      create: (definition: ChainDefinition): Promise<Chain | null> =>
        attempt('The chain was not created', () => call('createChain', { body: definition }, key()), ['chains']),
      /** `planAgain`: offered where something else has overtaken the plan. */
      deploy: (body: DeployRequest, planAgain?: () => void): Promise<Operation | null> =>
        attempt('Not deployed', () => call('createDeployment', { body }, key()), CHANGED_BY_DEPLOYING, planAgain),
      undeploy: (id: string): Promise<Operation | null> =>
        attempt('Not taken down', () => call('deleteDeployment', { params: { chain_id: id } }), CHANGED_BY_DEPLOYING),
      remove: (id: string): Promise<true | null> =>
        attempt('Not deleted', () => call('deleteChain', { params: { id } }).then(() => true as const), ['chains']),
    };
  }, [queries]);
}
