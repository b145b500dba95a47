import type { Transaction } from '../platform/redis.js';

export const PLAN_SHELVES = Symbol('PlanShelves');

/** Where a plan that does not run is kept: those that users ask for, and those that the server makes or that ran before. */
export type Shelf = 'previews' | 'own';

/**
 * Which stored plans are kept. Each shelf keeps the newest, in number and bytes; plans that are accepted or run are on none,
 * and those that somebody holds are kept whatever comes.
 */
export interface PlanShelves {
  /**
   * Takes plans that are about to be accepted from their shelves, so that they are there when they are. Resolves with those
   * that are not stored any more.
   */
  claim(ids: readonly string[]): Promise<string[]>;
  /** Plans that were claimed and not accepted. */
  putBack(ids: readonly string[]): Promise<void>;
  /** The plan does not expire: it is accepted, or runs. */
  useIn(transaction: Transaction, id: string): void;
  /** The plan is not used any more. */
  retireIn(transaction: Transaction, id: string): void;
  /** The holder needs this plan, and no other any more; null: none. */
  holdIn(transaction: Transaction, holder: string, id: string | null): void;
}
