import { access } from 'node:fs/promises';
import { Controller, Get, Global, Inject, Injectable, Module, type OnModuleInit, Req, Res } from '@nestjs/common';
import type { Capability, Health, RouteInput } from '@orrery/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bearerToken, requireRole } from '../../platform/auth.js';
import { CONFIG, type Config } from '../../platform/config.js';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import { sha256 } from '../../platform/ids.js';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { pageOf } from '../../platform/paging.js';
import { PROBES, type Probes } from '../../platform/probes.js';
import { STORE, type Store } from '../../platform/redis.js';
import { Input, Route } from '../../platform/route.js';
import { SESSION_VERIFIER, type SessionVerifier } from '../../ports/session-verifier.js';
import { Presence } from './presence.js';
import { StoreWatch } from './store-watch.js';

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
      ...(this.config.twin.launcher === null ? [] : [rootPrivileges()]),
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

/** Needed to start a twin. */
function rootPrivileges(): Capability {
  const root = process.getuid?.() === 0;
  return {
    id: 'root',
    title: 'Root privileges',
    where: 'server',
    available: root,
    detail: root ? 'the server runs as root' : `the server runs as user ${process.getuid?.()}`,
    fallback: root ? null : 'no twin on this machine; planning and remote agents work',
  };
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

/** For supervisors and Prometheus: health without details needs no session, metrics need one or their own token. */
@Controller()
class ProbeController {
  constructor(
    @Inject(SystemService) private readonly system: SystemService,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(SESSION_VERIFIER) private readonly sessions: SessionVerifier,
  ) {}

  @Get('healthz')
  async healthz(@Res() reply: FastifyReply): Promise<void> {
    const { status, version } = await this.system.health();
    await reply.status(status === 'failed' ? 503 : 200).send({ status, version });
  }

  @Get('metrics')
  async metrics(@Req() { headers }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const token = bearerToken(headers.authorization);
    const { metricsToken } = this.config;
    // Compared as hashes: their length and the time of comparison tell nothing.
    if (!(token && metricsToken && sha256(token) === sha256(metricsToken)))
      await requireRole(this.sessions, headers.authorization, 'viewer');
    await reply
      .header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
      .send(await this.system.metricsText());
  }
}

@Global()
@Module({ controllers: [SystemController, ProbeController], providers: [SystemService, Presence, StoreWatch] })
export class SystemModule {}
