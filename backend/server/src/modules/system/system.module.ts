import { readFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { Controller, Get, Global, Inject, Injectable, Module, type OnModuleInit, Res } from '@nestjs/common';
import type { Capability, Health, RouteInput } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { CONFIG, type Config } from '../../platform/config.js';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { pageOf } from '../../platform/paging.js';
import { PROBES, type Probes } from '../../platform/probes.js';
import { STORE, type Store } from '../../platform/redis.js';
import { Input, Route } from '../../platform/route.js';
import { Presence } from './presence.js';

@Injectable()
class SystemService implements OnModuleInit {
  private readonly startedMs = Date.now();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(STORE) private readonly store: Store,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(PROBES) private readonly probes: Probes,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  onModuleInit(): void {
    this.probes.onHealth(async () => {
      const alive = await Promise.race([
        this.store.redis.ping().then(
          () => true,
          () => false,
        ),
        new Promise<boolean>((resolve) => setTimeout(resolve, 1000, false)),
      ]);
      const restarts = this.store.server?.restarts ?? 0;
      const detail = alive ? `running; ${restarts} restarts` : 'not responding';
      return [{ name: 'redis', status: alive ? 'ok' : 'failed', detail }];
    });
    this.probes.onHealth(() => [this.stateHealth()]);
    this.probes.onCapabilities(() => this.capabilities());
  }

  async health(): Promise<Health> {
    const parts = await this.probes.health();
    const worst = parts.some(({ status }) => status === 'failed')
      ? 'failed'
      : parts.some(({ status }) => status === 'degraded')
        ? 'degraded'
        : 'ok';
    return { status: worst, version: this.config.version, started_ms: this.startedMs, parts };
  }

  allCapabilities(): Promise<Capability[]> {
    return this.probes.capabilities();
  }

  async metricsText(): Promise<string> {
    this.metrics.redisRestarts.set(this.store.server?.restarts ?? 0);
    this.metrics.entriesUnreadable.reset();
    for (const [key, count] of this.collections.unreadable()) this.metrics.entriesUnreadable.set({ key }, count);
    return this.metrics.registry.metrics();
  }

  private stateHealth(): Health['parts'][number] {
    const unreadable = [...this.collections.unreadable()].map(([key, count]) => `${count} of ${key}`);
    return unreadable.length === 0
      ? { name: 'state', status: 'ok', detail: 'every stored entry can be read' }
      : { name: 'state', status: 'degraded', detail: `entries that cannot be read: ${unreadable.join(', ')}` };
  }

  private async capabilities(): Promise<Capability[]> {
    const version = /redis_version:(\S+)/.exec(await this.store.redis.info('server'))?.[1] ?? 'unknown';
    const root = process.getuid?.() === 0;
    const pages = hugepages();
    const consoleBuilt = await access(this.config.consoleDir).then(
      () => true,
      () => false,
    );
    return [
      {
        id: 'redis',
        title: 'Redis',
        where: 'server',
        available: true,
        detail: `${version}, ${this.store.server ? 'private, each write synced before it is acknowledged' : 'external (REDIS_URL)'}`,
        fallback: null,
      },
      {
        id: 'root',
        title: 'Root privileges',
        where: 'server',
        available: root,
        detail: root ? 'the server runs as root' : `the server runs as user ${process.getuid?.()}`,
        fallback: root ? null : 'no twin on this machine; planning and remote agents work',
      },
      {
        id: 'hugepages',
        title: 'Hugepages',
        where: 'server',
        available: pages > 0,
        detail: pages > 0 ? `${pages} pages` : 'none reserved',
        fallback: pages > 0 ? null : 'engines use regular memory (--no-huge)',
      },
      {
        id: 'console',
        title: 'Web console',
        where: 'server',
        available: consoleBuilt,
        detail: consoleBuilt ? this.config.consoleDir : `${this.config.consoleDir} is not built`,
        fallback: consoleBuilt ? null : 'API only, with its reference at /api/docs',
      },
    ];
  }
}

function hugepages(): number {
  try {
    return Number(/^HugePages_Total:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

@Controller()
class SystemController {
  constructor(@Inject(SystemService) private readonly system: SystemService) {}

  @Route('getHealth')
  health(): Promise<Health> {
    return this.system.health();
  }

  @Route('listCapabilities')
  async capabilities(
    @Input() { query }: RouteInput<'listCapabilities'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return pageOf(await this.system.allCapabilities(), query, ({ id, where }) => `${where} ${id}`, reply);
  }
}

/** For health checks of a supervisor: no session needed, no details disclosed. */
@Controller()
class ProbeController {
  constructor(@Inject(SystemService) private readonly system: SystemService) {}

  @Get('healthz')
  async healthz(@Res() reply: FastifyReply): Promise<void> {
    const { status, version } = await this.system.health();
    await reply.status(status === 'failed' ? 503 : 200).send({ status, version });
  }

  @Get('metrics')
  async metrics(@Res() reply: FastifyReply): Promise<void> {
    await reply
      .header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
      .send(await this.system.metricsText());
  }
}

@Global()
@Module({ controllers: [SystemController, ProbeController], providers: [SystemService, Presence] })
export class SystemModule {}
