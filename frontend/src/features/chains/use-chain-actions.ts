import type { DeployRequest, Operation, Pipeline, PipelineDefinition } from '@orrery/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call } from '../../shared/api/client.js';
import { notifyError } from '../../shared/ui/notify.js';

/** Changes to whole chains. Each resolves to null after it has told the operator why it failed. */
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
    const runtime = ['deployments', 'operations', 'pipelines', 'nf-instances'];
    return {
      create: (definition: PipelineDefinition): Promise<Pipeline | null> =>
        attempt('The chain was not created', () => call('createPipeline', { body: definition }, key()), ['pipelines']),
      deploy: (body: DeployRequest): Promise<Operation | null> =>
        attempt('Not deployed', () => call('createDeployment', { body }, key()), runtime),
      undeploy: (id: string): Promise<Operation | null> =>
        attempt('Not taken down', () => call('deleteDeployment', { params: { pipeline_id: id } }), runtime),
      remove: (id: string): Promise<true | null> =>
        attempt('Not deleted', () => call('deletePipeline', { params: { id } }).then(() => true as const), [
          'pipelines',
        ]),
    };
  }, [queries]);
}
