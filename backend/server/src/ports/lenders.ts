import type { Instance } from '@orrery/contract';

export const LENDERS = Symbol('Lenders');

/** Who decides which NF instances use an accelerator. */
export interface Lenders {
  /** Throws 409 that names the lending group which decides about this instance, or has lent what it would use. */
  requireFree(instance: Instance, accelerated: boolean): void;
}
