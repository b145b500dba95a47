import type { Operation } from '@orrery/contract';
import type { Batch } from '../platform/durable-collection/collections.js';

export const OPERATIONS = Symbol('OperationLog');

export interface OperationLog {
  /** As memory has it. */
  find(id: string): Operation | undefined;
  /** As it is stored, also after a transaction that was not answered. */
  get(id: string): Promise<Operation | null>;
  /** Newest first, as they are stored. */
  list(): Promise<readonly Operation[]>;
  /** Stores the operation as it is now, together with the rest of the batch. */
  putIn(batch: Batch, operation: Operation): void;
}

/** Who cancelled it, or rolled it back by hand: it is not to be tried again. Null: nobody did. */
export function endedBy({ cancelled_by, rolled_back_by }: Operation): string | null {
  return cancelled_by ?? rolled_back_by ?? null;
}

export function isOver({ state }: Operation): boolean {
  return !['PROCESSING', 'FAILED_TEMP', 'ROLLING_BACK'].includes(state);
}
