import type { Instance, NfMove, Plan } from '@orrery/contract';

export const LENDERS = Symbol('Lenders');

/** Who decides which NF instances use an accelerator. */
export interface Lenders {
  /** Throws 409 that names the lending group which decides about this instance, or has lent what it would use. */
  requireFree(instance: Instance, accelerated: boolean): void;
  /** Whether it is in a slot that it was lent for a time: that is no place of its own. */
  isLent(instance: Instance): boolean;
  /**
   * Why a plan may not follow another, as a sentence: it would put an NF into a slot that a group lends, or take it out of one
   * that it was lent. Null: it may. What a group does itself, what takes a chain down and what leaves a broken slot may.
   */
  refusalOf(before: Plan | null, plan: Plan): string | null;
  /** The same of moves of a reconfiguration. */
  refusalOfMoves(moves: readonly NfMove[]): string | null;
}
