import type { Operation } from '@orrery/contract';
import { cancelledText } from '../format/operation.js';
import { StatusBadge } from './status-badge.js';

/** State of an operation; of one that was cancelled, by whom. */
export function OperationBadge({ operation }: { readonly operation: Pick<Operation, 'state' | 'cancelled_by'> }) {
  const { state, cancelled_by } = operation;
  const cancelled = cancelledText(operation);
  if (!cancelled) return <StatusBadge state={state} />;
  return (
    <StatusBadge
      state={state}
      status={state === 'ROLLED_BACK' ? 'idle' : undefined}
      label={`${cancelled} by ${cancelled_by}`}
    />
  );
}
