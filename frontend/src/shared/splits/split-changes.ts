import type { NfSplit, Operation } from '@orrery/contract';

/** The last change of an NF's split. */
export interface SplitChange {
  readonly operation: Pick<Operation, 'updated_ms' | 'by'>;
  /** What was asked before; with its name only: the default. */
  readonly before: NfSplit;
}

type Known = Pick<Operation, 'state' | 'updated_ms' | 'by' | 'chains' | 'request'>;

/**
 * The last change of the split among the completed operations, newest first, if it is the last change of the chain at all;
 * null: it is not, or what was before is not known.
 */
export function lastSplitChange(operations: readonly Known[], chainId: string, nodeId: string): SplitChange | null {
  const completed = operations.filter(
    ({ state, chains }) => state === 'COMPLETED' && chains.some(({ chain_id }) => chain_id === chainId),
  );
  const asked = ({ request }: Known) =>
    request.chains.find(({ chain_id }) => chain_id === chainId)?.splits?.find(({ node_id }) => node_id === nodeId);
  const [last, ...earlier] = completed;
  // A change of the number of instances is undone where it was made.
  if (!last || !asked(last) || asked(last)?.instances) return null;
  for (const operation of earlier) {
    const before = asked(operation);
    if (before) {
      const { instances: _, ...split } = before;
      return { operation: last, before: split };
    }
    const { from_version } = operation.chains.find(({ chain_id }) => chain_id === chainId)!;
    if (from_version === null) return { operation: last, before: { node_id: nodeId } };
  }
  return null;
}
