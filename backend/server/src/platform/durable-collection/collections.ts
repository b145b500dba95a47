import type { Log } from '../log.js';
import { Mutex } from '../mutex.js';
import { Pace } from '../pace.js';
import type { Store, Transaction } from '../redis.js';
import type { CollectionDefinition } from './definition.js';
import { type CollectionDraft, DurableCollection } from './durable-collection.js';

export const COLLECTIONS = Symbol('Collections');

/** Changes to any number of collections, stored atomically. */
export interface Batch {
  /** Adds or replaces. Throws 409 beyond the bound, and 412 or 404 if the entry is not at the revision. */
  put<T extends object>(collection: DurableCollection<T>, value: T, ifMatch?: string | null): void;
  /** False if there was no such entry. Throws 412 or 404 if the entry is not at the revision. */
  remove<T extends object>(collection: DurableCollection<T>, id: string, ifMatch?: string | null): boolean;
  /** Adds further writes to the transaction, such as the event of the change. */
  also(writeIn: (transaction: Transaction) => void): void;
  /** Called when the transaction is stored, together with the change in memory and before any listener. */
  onStored(apply: () => void): void;
}

/**
 * All durable collections of a store. Commits are serialized, so `work` always sees the stored state: memory is updated once
 * Redis has committed the transaction, and is re-read if the outcome is unknown.
 */
export class Collections {
  private readonly mutex = new Mutex();
  private readonly opened = new Set<DurableCollection<never>>();

  constructor(
    private readonly store: Store,
    private readonly log: Log,
  ) {}

  /** The collection is empty until `load`. */
  open<T extends object>(definition: CollectionDefinition<T>): DurableCollection<T> {
    const collection = new DurableCollection(definition, this.store, this.log);
    this.opened.add(collection as unknown as DurableCollection<never>);
    return collection;
  }

  /** Nothing is stored if `work` throws or changes nothing. Rejects with 503 if the outcome is unknown. */
  commit<R>(work: (batch: Batch) => R): Promise<R> {
    return this.mutex.run(async () => {
      for (const collection of this.opened) await collection.load();
      const drafts = new Map<DurableCollection<never>, CollectionDraft<never>>();
      const others: ((transaction: Transaction) => void)[] = [];
      const applied: (() => void)[] = [];
      const pace = new Pace();
      const result = work(batchOf(drafts, others, applied));
      for (const draft of drafts.values()) draft.trim();
      const changed = [...drafts].filter(([, draft]) => !draft.isEmpty);
      if (changed.length === 0 && others.length === 0) return result;
      for (const [, draft] of changed) await draft.encode(pace);
      try {
        await this.store.transact((transaction) => {
          for (const [, draft] of changed) draft.writeIn(transaction);
          for (const writeIn of others) writeIn(transaction);
        });
      } catch (error) {
        for (const [collection] of changed) collection.doubt();
        throw error;
      }
      const tell = changed.map(([collection, draft]) => collection.take(draft));
      for (const apply of [...applied, ...tell]) apply();
      return result;
    });
  }

  /** Number of entries that cannot be read, by the key of the collection; without those that have none. */
  unreadable(): ReadonlyMap<string, number> {
    const counts = [...this.opened].map(({ definition, unreadable }) => [definition.key, unreadable] as const);
    return new Map(counts.filter(([, count]) => count > 0));
  }

  /** Resolves when every collection matches Redis, including after a transaction without a reply. */
  certain(): Promise<void> {
    return this.commit(() => undefined);
  }
}

function batchOf(
  drafts: Map<DurableCollection<never>, CollectionDraft<never>>,
  others: ((transaction: Transaction) => void)[],
  applied: (() => void)[],
): Batch {
  const draftOf = <T extends object>(collection: DurableCollection<T>): CollectionDraft<T> => {
    const key = collection as unknown as DurableCollection<never>;
    const draft = drafts.get(key) ?? (collection.draft() as unknown as CollectionDraft<never>);
    drafts.set(key, draft);
    return draft as unknown as CollectionDraft<T>;
  };
  return {
    put: (collection, value, ifMatch = null) => draftOf(collection).put(value, ifMatch),
    remove: (collection, id, ifMatch = null) => draftOf(collection).remove(id, ifMatch),
    also: (writeIn) => void others.push(writeIn),
    onStored: (apply) => void applied.push(apply),
  };
}
