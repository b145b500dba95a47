import { useDeployments, useOperations } from '../api/queries.js';
import { operationTrouble } from '../format/operation.js';

/**
 * Why the operation that changes a chain does not get further: it waits for what failed, or for somebody. Null: it goes on, or none
 * changes the chain.
 */
export function useHalted(chainId: string): string | null {
  const { data: deployments } = useDeployments();
  const { data: operations } = useOperations();
  const deployment = deployments?.find(({ chain_id }) => chain_id === chainId);
  if (deployment?.state !== 'deploying' && deployment?.state !== 'undeploying') return null;
  const operation = operations?.items.find(({ id }) => id === deployment.operation_id);
  if (operation?.state !== 'FAILED_TEMP') return null;
  return operationTrouble(operation)?.detail ?? 'it can be tried again';
}
