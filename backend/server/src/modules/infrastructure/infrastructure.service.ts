import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type DriverChange, type FieldError, Infrastructure, withDrivers } from '@orrery/contract';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import { Mutex } from '../../platform/mutex.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { changedSince, conflict, invalid } from '../../platform/problem.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { namingItems } from './naming-items.js';
import { infrastructureErrors } from './validate.js';

interface Stored {
  readonly revision: number;
  readonly infrastructure: Infrastructure;
}

const NONE: Stored = {
  revision: 0,
  infrastructure: { name: 'infrastructure', servers: [], boards: [], switches: [], hosts: [], links: [] },
};

/** In-memory copy of the infrastructure in Redis. */
@Injectable()
export class InfrastructureService implements InfrastructureStore, OnModuleInit {
  current: Stored = NONE;
  /** A transaction got no reply: Redis may be ahead of memory. */
  private unsure = false;
  private readonly listeners: (() => void)[] = [];
  private readonly checks: ((infrastructure: Infrastructure) => Promise<readonly FieldError[]>)[] = [];
  private readonly mutex = new Mutex();

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
  ) {}

  async onModuleInit(): Promise<void> {
    this.current = await this.read();
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  checkBy(check: (infrastructure: Infrastructure) => Promise<readonly FieldError[]>): void {
    this.checks.push(check);
  }

  replace(infrastructure: Infrastructure, given: Precondition, actor: string): Promise<Stored> {
    return this.mutex.run(async () => {
      if (this.unsure) await this.reload();
      const { revision } = this.current;
      const ifMatch = revision === 0 ? (given ?? null) : requireRead(given, 'infrastructure', revision);
      if (ifMatch !== null && ifMatch !== String(revision)) throw changedSince('infrastructure', revision);
      return this.accept(infrastructure, actor);
    });
  }

  changeDrivers(changes: readonly Pick<DriverChange, 'switch' | 'to'>[], actor: string): Promise<void> {
    return this.mutex.run(async () => {
      if (this.unsure) await this.reload();
      const { infrastructure } = this.current;
      const driverOf = new Map(infrastructure.switches.map(({ id, driver }) => [id, driver]));
      const gone = changes.find((change) => !driverOf.has(change.switch));
      if (gone) throw conflict(`The infrastructure has no switch "${gone.switch}" any more.`);
      if (changes.every((change) => driverOf.get(change.switch) === change.to)) return;
      const message = changes.map((change) => `${change.switch} is to run the driver ${change.to}`).join(', ');
      const next = withDrivers(infrastructure, changes);
      await this.accept(next, actor, message, (errors) => namingItems(errors, next));
    });
  }

  async errorsOf(infrastructure: Infrastructure): Promise<readonly FieldError[]> {
    const errors = infrastructureErrors(infrastructure);
    return namingItems(errors.length > 0 ? errors : await this.refusalsOf(infrastructure), infrastructure);
  }

  private async refusalsOf(infrastructure: Infrastructure): Promise<readonly FieldError[]> {
    return (await Promise.all(this.checks.map((check) => check(infrastructure)))).flat();
  }

  private async accept(
    infrastructure: Infrastructure,
    actor: string,
    message = inNumbers(infrastructure),
    worded = (errors: readonly FieldError[]) => errors,
  ) {
    const errors = infrastructureErrors(infrastructure);
    if (errors.length > 0) throw invalid(worded(errors));
    this.requireUnused(infrastructure);
    const refusals = await this.refusalsOf(infrastructure);
    if (refusals.length > 0) throw invalid(worded(refusals));
    const next: Stored = { revision: this.current.revision + 1, infrastructure };
    await this.write(next, actor, message);
    this.tell();
    return next;
  }

  /** In the order of deployments, which are commits too: one that was accepted during the checks counts. */
  private async write(next: Stored, actor: string, message: string): Promise<void> {
    const { revision, infrastructure } = next;
    try {
      await this.collections.commit((batch) => {
        this.requireUnused(infrastructure);
        batch.also((transaction) => {
          this.unsure = true;
          transaction.set(KEYS.infrastructure, JSON.stringify(next));
          this.events.appendIn(transaction, {
            type: 'infrastructure.changed',
            subject: infrastructure.name,
            message,
            actor,
            data: { revision },
          });
        });
        batch.onStored(() => {
          this.current = next;
          this.unsure = false;
        });
      });
    } catch (error) {
      // If this fails as well, the next change reads again.
      if (this.unsure) await this.reload().catch(() => undefined);
      throw error;
    }
  }

  private async reload(): Promise<void> {
    const before = this.current;
    this.current = await this.read();
    this.unsure = false;
    if (this.current.revision !== before.revision) this.tell();
  }

  private async read(): Promise<Stored> {
    const stored = await this.store.json<Stored>(KEYS.infrastructure);
    return stored ? { ...stored, infrastructure: Infrastructure.parse(stored.infrastructure) } : NONE;
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }

  private requireUnused({ servers, hosts, switches, links }: Infrastructure): void {
    const lost = (needed: ReadonlySet<string>, offered: readonly { id: string }[]) =>
      [...needed].filter((name) => !offered.some(({ id }) => id === name));
    const carries = (pointer: string, detail: string): FieldError => ({ pointer, detail, code: 'in-use' });
    const blocked = [
      ...lost(this.view.serversInUse(), servers).map((id) => carries('/servers', `${id} carries chains`)),
      ...lost(this.view.hostsInUse(), hosts).map((id) =>
        carries('/hosts', `a deployed chain takes traffic from ${id}`),
      ),
    ];
    if (blocked.length > 0) throw conflict('Resources of deployed chains cannot be removed.', blocked);
    const inUse = new Set([...this.view.serversInUse(), ...this.view.hostsInUse()]);
    const programmed = switches.flatMap(({ id, program }, index) => {
      const ends = program === undefined ? [] : links.flatMap(({ a, b }) => [[a, b] as const, [b, a] as const]);
      const node = ends.find(([near, far]) => near.node === id && inUse.has(far.node))?.[1].node;
      const detail = `${node} at ${id} belongs to a deployed chain, which a P4 program of its own does not carry`;
      return node === undefined ? [] : [carries(`/switches/${index}/program`, detail)];
    });
    if (programmed.length > 0)
      throw conflict('A switch that carries chains cannot run a P4 program of its own.', programmed);
  }
}

function inNumbers({ servers, hosts, links }: Infrastructure): string {
  return `Infrastructure: ${servers.length} servers, ${hosts.length} hosts, ${links.length} links`;
}
