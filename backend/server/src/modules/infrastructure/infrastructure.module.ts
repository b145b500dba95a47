import { Controller, Global, Inject, Injectable, Module, type OnModuleInit, Res } from '@nestjs/common';
import { type FieldError, Infrastructure, type RouteInput, type SessionInfo } from '@orrery/contract';
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
  infrastructure: { name: 'infrastructure', servers: [], boards: [], switches: [], hosts: [], links: [] },
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
    const stored = await this.store.json<Stored>(KEYS.infrastructure);
    this.current = stored ? { ...stored, infrastructure: Infrastructure.parse(stored.infrastructure) } : NONE;
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
      const blocked = this.stillNeeded(infrastructure);
      if (blocked.length > 0) throw conflict('What deployed chains use cannot be taken away.', blocked);
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

  private stillNeeded({ servers, hosts }: Infrastructure): FieldError[] {
    const lost = (needed: ReadonlySet<string>, offered: readonly { id: string }[]) =>
      [...needed].filter((name) => !offered.some(({ id }) => id === name));
    const carries = (pointer: string, detail: string): FieldError => ({ pointer, detail, code: 'in-use' });
    return [
      ...lost(this.view.serversInUse(), servers).map((id) => carries('/servers', `${id} carries chains`)),
      ...lost(this.view.hostsInUse(), hosts).map((id) =>
        carries('/hosts', `traffic of a deployed chain is from ${id}`),
      ),
    ];
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
