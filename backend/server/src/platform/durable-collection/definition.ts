import type { z } from 'zod';

/** What a durable collection holds, how it is stored and how large it may grow. */
export interface CollectionDefinition<T extends object> {
  /** Key of the Redis hash: id -> stored entry. */
  readonly key: string;
  /** Singular name of an entry in problem details. */
  readonly noun: string;
  readonly schema: z.ZodType<T>;
  /** Version of the stored format; entries of earlier versions go through `migrate`. */
  readonly version: number;
  /** Migrates a value stored under an earlier version. Version 0 is an entry without an envelope. */
  readonly migrate?: (value: unknown, from: number, id: string) => unknown;
  readonly idOf: (value: T) => string;
  /** The order of `all()`; absent: by id. */
  readonly order?: (a: T, b: T) => number;
  /**
   * In the order in which they were added, by a number that is stored with each: a wall clock may be set back. Those of one
   * transaction are in `order`, and so are those of earlier servers, which have no number and count as the oldest. `in-order`: all
   * are in `order`, and the numbers say only which are dropped.
   */
  readonly numbered?: 'newest-first' | 'oldest-first' | 'in-order';
  readonly bound: CollectionBound<T>;
}

export type CollectionBound<T> =
  /** A new entry beyond `most` is refused with 409. */
  | { readonly most: number; readonly policy: 'refuse' }
  /**
   * Those beyond `most` are dropped, except those that `keeps` names: the last in `order` or, where entries are numbered, those that
   * were added first. One that was kept counts from when it was no longer: what has just ended is not dropped for its early begin.
   */
  | { readonly most: number; readonly policy: 'drop-last'; readonly keeps?: (value: T) => boolean };

/** Changes to a collection in one transaction. */
export interface CollectionChange<T> {
  readonly put: readonly T[];
  readonly removed: readonly T[];
}
