import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { EventDraft } from '@orrery/contract';
import { LOG, type Log } from '../../platform/log.js';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { isStoreAway, STORE, type Store, type Transaction } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { EventLog } from '../../ports/event-log.js';
import { type Entry, entryOf, xaddArguments } from './event-codec.js';

const BATCH = 200;
const MAX_WAITING = 10_000;
const RETRY_MS = 100;

/** Writes events in order, exactly once, even if Redis restarts in the middle of a write. */
@Injectable()
export class EventWriter implements EventLog, OnApplicationShutdown {
  private readonly waiting: Entry[] = [];
  private working: Promise<void> | null = null;
  private closed = false;

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(LOG) private readonly log: Log,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  append(draft: EventDraft): void {
    if (this.waiting.length >= MAX_WAITING) {
      this.metrics.eventsLost.inc();
      return;
    }
    this.waiting.push(entryOf(draft));
    this.working ??= this.drain();
  }

  appendIn(transaction: Transaction, draft: EventDraft): void {
    const entry = entryOf(draft);
    transaction.xadd(...xaddArguments(entry));
    this.metrics.events.inc({ type: entry.type });
  }

  async onApplicationShutdown(): Promise<void> {
    this.closed = true;
    await this.working;
  }

  /** `working` is cleared in the same tick that finds nothing waiting, so that no event is missed in between. */
  private async drain(): Promise<void> {
    try {
      let goesOn = true;
      while (goesOn && this.waiting.length > 0) goesOn = await this.writeBatch();
    } finally {
      this.working = null;
    }
  }

  /** False if the server is stopping and the store is away. */
  private async writeBatch(): Promise<boolean> {
    const batch = this.waiting.slice(0, BATCH);
    let left: readonly Entry[] = [];
    let refused: readonly Entry[] = [];
    try {
      refused = await this.write(batch);
    } catch (error) {
      this.log.warn({ error: (error as Error).message, waiting: this.waiting.length }, 'events wait for the store');
      if (this.closed) return false;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      left = await this.missing(batch);
    }
    this.waiting.splice(0, batch.length, ...left);
    for (const entry of batch)
      if (!left.includes(entry) && !refused.includes(entry)) this.metrics.events.inc({ type: entry.type });
    this.metrics.eventsLost.inc(refused.length);
    return true;
  }

  /**
   * Returns the entries that Redis refuses beside others that it takes: these are lost. Throws if it takes none, and if it is
   * unknown which it took.
   */
  private async write(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const transaction = this.store.redis.multi();
    for (const entry of entries) transaction.xadd(...xaddArguments(entry));
    const results = await transaction.exec();
    if (!results) throw new Error('the transaction was discarded');
    const errors = results.flatMap(([error]) => error ?? []);
    const [first] = errors;
    if (first && (errors.length === entries.length || errors.some(isStoreAway))) throw first;
    if (first) this.log.error({ error: first.message, events: errors.length }, 'Redis refuses events, which are lost');
    return entries.filter((_, index) => results[index]![0] !== null);
  }

  /** The entries whose nonce is not among the latest entries of the log. */
  private async missing(entries: readonly Entry[]): Promise<Entry[]> {
    for (;;) {
      try {
        const newest = await this.store.redis.xrevrange(KEYS.events, '+', '-', 'COUNT', entries.length + 1000);
        const nonces = new Set(newest.map(([, fields]) => fields[3]));
        return entries.filter(({ nonce }) => !nonces.has(nonce));
      } catch (error) {
        if (this.closed) return [];
        this.log.debug({ error: (error as Error).message }, 'the log cannot be read');
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}
