import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Event } from '@orrery/contract';
import type { Redis } from 'ioredis';
import { LOG, type Log } from '../../platform/log.js';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { compareIds, type EventSource } from '../../ports/event-log.js';
import { readEvents } from './event-codec.js';

const KEEP_IN_MEMORY = 4000;
const READ_AT_ONCE = 500;
const BLOCK_MS = 5000;

/** Follows the log in Redis with one blocking reader and serves all listeners from memory. */
@Injectable()
export class EventTail implements EventSource, OnModuleInit, OnApplicationShutdown {
  latest = '0-0';
  private recent: Event[] = [];
  /** Every event after this id is in `recent`. */
  private recentFrom = '0-0';
  private readonly listeners = new Set<() => void>();
  private reader: Redis | null = null;
  private closed = false;

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(LOG) private readonly log: Log,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  async onModuleInit(): Promise<void> {
    const newest = await this.store.redis.xrevrange(KEYS.events, '+', '-', 'COUNT', 1);
    this.latest = newest[0]?.[0] ?? '0-0';
    this.recentFrom = this.latest;
    this.reader = this.store.blockingConnection(BLOCK_MS);
    void this.follow(this.reader);
  }

  onApplicationShutdown(): void {
    this.closed = true;
    this.reader?.disconnect();
  }

  onNews(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async covers(id: string): Promise<boolean> {
    if (compareIds(id, this.latest) > 0) return false;
    if (compareIds(id, this.recentFrom) >= 0) return true;
    const [oldest] = await this.store.redis.xrange(KEYS.events, '-', '+', 'COUNT', 1);
    if (!oldest || compareIds(id, oldest[0]) >= 0) return true;
    // Older than the oldest entry: complete only if nothing was ever trimmed.
    return this.hasAll();
  }

  /** Whether the log has not come as far as this id, such as one that was restored from before it. */
  async endsBefore(id: string): Promise<boolean> {
    if (compareIds(id, this.latest) <= 0) return false;
    const [newest] = await this.store.redis.xrevrange(KEYS.events, '+', '-', 'COUNT', 1);
    return compareIds(id, newest?.[0] ?? '0-0') > 0;
  }

  /** Time of the oldest event, where earlier ones have made way; null: none has. */
  async beginsMs(): Promise<number | null> {
    const [oldest] = await this.store.redis.xrange(KEYS.events, '-', '+', 'COUNT', 1);
    return oldest && !(await this.hasAll()) ? Number(oldest[0].split('-')[0]) : null;
  }

  private async hasAll(): Promise<boolean> {
    const info = (await this.store.redis.xinfo('STREAM', KEYS.events)) as (string | number)[];
    const field = (name: string) => Number(info[info.indexOf(name) + 1]);
    return field('entries-added') === field('length');
  }

  async after(id: string, limit: number): Promise<Event[]> {
    if (compareIds(id, this.recentFrom) >= 0) {
      let low = 0;
      let high = this.recent.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (compareIds(this.recent[middle]!.id, id) <= 0) low = middle + 1;
        else high = middle;
      }
      return this.recent.slice(low, low + limit);
    }
    const found: Event[] = [];
    let cursor = id;
    for (;;) {
      const entries = await this.store.redis.xrange(KEYS.events, `(${cursor}`, '+', 'COUNT', limit - found.length);
      const last = entries.at(-1);
      found.push(...readEvents(entries, this.metrics));
      if (!last || found.length === limit) return found;
      cursor = last[0];
    }
  }

  async before(id: string, sinceId: string, limit: number): Promise<Event[]> {
    const entries = await this.store.redis.xrevrange(KEYS.events, `(${id}`, `(${sinceId}`, 'COUNT', limit);
    return readEvents(entries.reverse(), this.metrics);
  }

  private async follow(reader: Redis): Promise<void> {
    while (!this.closed) {
      try {
        const answer = await reader.xread(
          'COUNT',
          READ_AT_ONCE,
          'BLOCK',
          BLOCK_MS,
          'STREAMS',
          KEYS.events,
          this.latest,
        );
        const entries = answer?.[0]?.[1] ?? [];
        if (entries.length > 0) this.take(readEvents(entries, this.metrics), entries.at(-1)![0]);
      } catch (error) {
        if (this.closed) return;
        this.log.debug({ error: (error as Error).message }, 'the event log cannot be followed');
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  private take(events: readonly Event[], latest: string): void {
    this.recent.push(...events);
    this.latest = latest;
    if (this.recent.length > 2 * KEEP_IN_MEMORY) {
      const dropped = this.recent.length - KEEP_IN_MEMORY;
      this.recentFrom = this.recent[dropped - 1]!.id;
      this.recent = this.recent.slice(dropped);
    }
    for (const listener of this.listeners) listener();
  }
}
