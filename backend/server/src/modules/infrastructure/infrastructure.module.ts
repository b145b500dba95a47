import { Controller, Global, Inject, Injectable, Module, type OnModuleInit, Res } from '@nestjs/common';
import type { FieldError, Infrastructure, RouteInput, SessionInfo } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { Mutex } from '../../platform/mutex.js';
import { conflict, invalid, ProblemError } from '../../platform/problem.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { infrastructureErrors } from './validate.js';

interface Stored {
  readonly revision: number;
  readonly infrastructure: Infrastructure;
}

const NONE: Stored = {
  revision: 0,
  infrastructure: { name: 'infrastructure', servers: [], switches: [], hosts: [], links: [] },
};

@Injectable()
class InfrastructureService implements InfrastructureStore, OnModuleInit {
  current: Stored = NONE;
  private readonly listeners: (() => void)[] = [];
  private readonly mutex = new Mutex();

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
  ) {}

  async onModuleInit(): Promise<void> {
    this.current = (await this.store.json<Stored>(KEYS.infrastructure)) ?? NONE;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  replace(infrastructure: Infrastructure, ifMatch: string | null, actor: string): Promise<Stored> {
    return this.mutex.run(async () => {
      if (ifMatch !== null && ifMatch !== String(this.current.revision))
        throw new ProblemError(412, `The infrastructure is at revision ${this.current.revision}.`);
      const errors = infrastructureErrors(infrastructure);
      if (errors.length > 0) throw invalid(errors);
      const blocked = this.serversStillNeeded(infrastructure);
      if (blocked.length > 0) throw conflict('Servers that carry pipelines cannot be taken away.', blocked);
      const next: Stored = { revision: this.current.revision + 1, infrastructure };
      await this.store.transact((transaction) => {
        transaction.set(KEYS.infrastructure, JSON.stringify(next));
        this.events.appendIn(transaction, {
          type: 'infrastructure.changed',
          subject: infrastructure.name,
          message: `Infrastructure: ${infrastructure.servers.length} servers, ${infrastructure.hosts.length} hosts, ${infrastructure.links.length} links`,
          actor,
          data: { revision: next.revision },
        });
      });
      this.current = next;
      for (const listener of this.listeners) listener();
      return next;
    });
  }

  private serversStillNeeded(infrastructure: Infrastructure): FieldError[] {
    const offered = new Set(infrastructure.servers.map(({ id }) => id));
    return [...this.view.serversInUse()]
      .filter((server) => !offered.has(server))
      .map((server) => ({ pointer: '/servers', detail: `${server} carries pipelines`, code: 'in-use' }));
  }
}

@Controller()
class InfrastructureController {
  constructor(@Inject(InfrastructureService) private readonly infrastructure: InfrastructureService) {}

  @Route('getInfrastructure')
  get(@Res({ passthrough: true }) reply: FastifyReply): Infrastructure {
    const { revision, infrastructure } = this.infrastructure.current;
    reply.header('etag', etagOf(revision));
    return infrastructure;
  }

  @Route('putInfrastructure')
  async put(
    @Input() { body }: RouteInput<'putInfrastructure'>,
    @IfMatch() ifMatch: string | null,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Infrastructure> {
    const { revision, infrastructure } = await this.infrastructure.replace(body, ifMatch, caller.name);
    reply.header('etag', etagOf(revision));
    return infrastructure;
  }
}

@Global()
@Module({
  controllers: [InfrastructureController],
  providers: [InfrastructureService, { provide: INFRASTRUCTURE, useExisting: InfrastructureService }],
  exports: [INFRASTRUCTURE],
})
export class InfrastructureModule {}
