import type { Event } from '@orrery/contract';
import type { Transaction } from '../platform/redis.js';

export const EVENT_LOG = Symbol('EventLog');
export const EVENT_SOURCE = Symbol('EventSource');

export interface EventDraft {
  /** `<subject kind>.<what happened>`. */
  readonly type: string;
  readonly severity?: Event['severity'];
  readonly subject: string;
  readonly message: string;
  /** Who caused it; absent: the server itself. */
  readonly actor?: string;
  readonly data?: Record<string, unknown>;
  /** When it happened; absent: now. */
  readonly t_ms?: number;
}

/** Where what happens is written down. */
export interface EventLog {
  /** Writes soon and in order; kept while the store is away, up to a bound. */
  append(draft: EventDraft): void;
  /** Writes together with the change that it tells of. */
  appendIn(transaction: Transaction, draft: EventDraft): void;
}

/** The log as readers see it. Ids are those of the Redis Stream. */
export interface EventSource {
  /** Id of the newest event; `0-0` while there is none. */
  readonly latest: string;
  /** Whether every event behind `id` is still there. */
  covers(id: string): Promise<boolean>;
  /** The first `limit` events behind `id`, in order. */
  after(id: string, limit: number): Promise<Event[]>;
  /** Calls back when there are newer events; gives the way to end that. */
  onNews(listener: () => void): () => void;
}

/** Order of stream ids. */
export function compareIds(a: string, b: string): number {
  const [aMs = 0, aSeq = 0] = a.split('-').map(Number);
  const [bMs = 0, bSeq = 0] = b.split('-').map(Number);
  return aMs - bMs || aSeq - bSeq;
}
