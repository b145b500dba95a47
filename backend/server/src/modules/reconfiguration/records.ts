import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { Reconfiguration } from '@orrery/contract';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventDraft, type EventLog } from '../../ports/event-log.js';

/** Older ones are forgotten. */
const KEEP = 200;

/** Every reconfiguration lately, in memory as in Redis, the newest first. */
@Injectable()
export class Records implements OnModuleInit {
  private entries: readonly Reconfiguration[] = [];

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  async onModuleInit(): Promise<void> {
    const stored = await this.store.hashValues<Reconfiguration>(KEYS.reconfigurations);
    this.entries = stored.sort((a, b) => b.started_ms - a.started_ms || (a.id < b.id ? 1 : -1));
  }

  all(): readonly Reconfiguration[] {
    return this.entries;
  }

  find(id: string): Reconfiguration | undefined {
    return this.entries.find((each) => each.id === id);
  }

  /** Stores the run as it is now, with what is told of it. */
  async write(run: Reconfiguration, ...events: EventDraft[]): Promise<void> {
    const others = this.entries.filter(({ id }) => id !== run.id);
    const next = [run, ...others].sort((a, b) => b.started_ms - a.started_ms || (a.id < b.id ? 1 : -1));
    const over = next.slice(KEEP).map(({ id }) => id);
    await this.store.transact((transaction) => {
      transaction.hset(KEYS.reconfigurations, run.id, JSON.stringify(run));
      if (over.length > 0) transaction.hdel(KEYS.reconfigurations, ...over);
      for (const event of events) this.events.appendIn(transaction, event);
    });
    this.entries = next.slice(0, KEEP);
  }
}
