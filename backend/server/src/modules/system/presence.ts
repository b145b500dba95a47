import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { LOG, type Log } from '../../platform/log.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';

const PERIOD_MS = 1000;

/** Records a heartbeat, so that the next server knows how long nothing was recorded. */
@Injectable()
export class Presence implements OnModuleInit, OnApplicationShutdown {
  private timer: NodeJS.Timeout | null = null;

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(LOG) private readonly log: Log,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  async onModuleInit(): Promise<void> {
    const seen = await this.store.redis.get(KEYS.serverSeen);
    if (seen !== null) {
      const away_since_ms = Number(seen);
      const away_s = Math.max(0, Date.now() - away_since_ms) / 1000;
      this.events.append({
        type: 'server.returned',
        subject: 'server',
        message: `The server restarted; nothing was recorded while it was down (${away_s.toFixed(1)} s)`,
        data: { away_since_ms },
      });
    }
    await this.note();
    this.timer = setInterval(() => void this.note(), PERIOD_MS).unref();
  }

  onApplicationShutdown(): void {
    if (this.timer) clearInterval(this.timer);
  }

  private async note(): Promise<void> {
    await this.store.redis
      .set(KEYS.serverSeen, Date.now())
      .catch((error: Error) => this.log.debug({ error: error.message }, 'the server cannot record its heartbeat'));
  }
}
