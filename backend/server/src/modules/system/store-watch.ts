import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Health } from '@orrery/contract';
import { LOG, type Log } from '../../platform/log.js';
import { PROBES, type Probes } from '../../platform/probes.js';
import { STORE, type Store } from '../../platform/redis.js';
import { type Pressure, pressuresOf } from '../../platform/store-pressure.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';

const PERIOD_MS = 5000;
const ANSWER_MS = 1000;

/** Tells how the store is, and raises an alarm before it stops taking changes. */
@Injectable()
export class StoreWatch implements OnModuleInit, OnApplicationShutdown {
  private timer: NodeJS.Timeout | null = null;
  private pressures: readonly Pressure[] = [];

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(PROBES) private readonly probes: Probes,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(LOG) private readonly log: Log,
  ) {}

  onModuleInit(): void {
    this.probes.onHealth(async () => [await this.health()]);
    const look = () =>
      void this.look().catch((error: Error) =>
        this.log.debug({ error: error.message }, 'the store cannot be measured'),
      );
    look();
    this.timer = setInterval(look, PERIOD_MS).unref();
  }

  onApplicationShutdown(): void {
    if (this.timer) clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    const before = this.pressures;
    this.pressures = pressuresOf(await this.store.room());
    for (const { what, detail } of this.pressures)
      if (!before.some((each) => each.what === what))
        this.events.append({
          type: 'server.store-low',
          subject: 'server',
          message: `Soon no change can be stored: ${detail}`,
          data: { what },
        });
    for (const { what } of before)
      if (!this.pressures.some((each) => each.what === what))
        this.events.append({
          type: 'server.store-relieved',
          subject: 'server',
          message: `The store has room again (${what})`,
          data: { what },
        });
  }

  private async health(): Promise<Health['parts'][number]> {
    const restarts = this.store.server?.restarts ?? 0;
    const told = (status: 'ok' | 'degraded' | 'failed', detail: string) => ({ name: 'redis', status, detail });
    if (this.store.server?.fault) return told('failed', this.store.server.fault);
    const late = new Promise<boolean>((resolve) => setTimeout(resolve, ANSWER_MS, false));
    const answers = this.store.redis.ping().then(
      () => true,
      () => false,
    );
    if (!(await Promise.race([answers, late]))) return told('failed', 'not responding');
    if (this.pressures.length > 0) return told('degraded', this.pressures.map(({ detail }) => detail).join('; '));
    return told('ok', `running; ${restarts} restarts`);
  }
}
