import type { Event, EventDraft } from '@orrery/contract';
import type { Transaction } from '../platform/redis.js';

export const EVENT_LOG = Symbol('EventLog');
export const EVENT_SOURCE = Symbol('EventSource');

/** Where events are written. */
export interface EventLog {
  /** Writes asynchronously and in order; buffered while the store is away, up to a bound. */
  append(draft: EventDraft): void;
  /** Writes in the same transaction as the change. */
  appendIn(transaction: Transaction, draft: EventDraft): void;
}

/** The log as readers see it. Ids are those of the Redis Stream. */
export interface EventSource {
  /** Id of the latest event; `0-0` if there is none. */
  readonly latest: string;
  /** Whether every event after `id` is still in the log. */
  covers(id: string): Promise<boolean>;
  /** The first `limit` events after `id`, in order; fewer only at the end of the log. */
  after(id: string, limit: number): Promise<Event[]>;
  /** The last `limit` events before `id` and after `sinceId`, in order. */
  before(id: string, sinceId: string, limit: number): Promise<Event[]>;
  /** Calls back when there are newer events; returns a function that unsubscribes. */
  onNews(listener: () => void): () => void;
}

/** Order of stream ids. */
export function compareIds(a: string, b: string): number {
  const [aMs = 0, aSeq = 0] = a.split('-').map(Number);
  const [bMs = 0, bSeq = 0] = b.split('-').map(Number);
  return aMs - bMs || aSeq - bSeq;
}
