import type { Operation } from '@orrery/contract';
import type { Transaction } from '../platform/redis.js';

export const OPERATIONS = Symbol('OperationLog');

export interface OperationLog {
  get(id: string): Promise<Operation | null>;
  /** Stores the operation as it is now, together with the change that it tells of. */
  writeIn(transaction: Transaction, operation: Operation): void;
}

export function isOver({ state }: Operation): boolean {
  return !['PROCESSING', 'FAILED_TEMP', 'ROLLING_BACK'].includes(state);
}
