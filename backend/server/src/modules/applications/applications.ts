import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { ApplicationDefinition, FieldError, Infrastructure } from '@orrery/contract';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { conflict, invalid } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { applicationErrors } from './check.js';
import { StoredApplication } from './stored.js';

const MAX_APPLICATIONS = 500;
type What = 'declared' | 'changed' | 'started' | 'stopped' | 'restarted' | 'deleted';

/** The declared applications. */
@Injectable()
export class Applications implements OnModuleInit {
  private readonly collection: DurableCollection<StoredApplication>;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
  ) {
    this.collection = collections.open({
      key: KEYS.applications,
      noun: 'application',
      schema: StoredApplication,
      version: 1,
      idOf: ({ definition }) => definition.id,
      bound: { most: MAX_APPLICATIONS, policy: 'refuse' },
    });
  }

  async onModuleInit(): Promise<void> {
    await this.collection.load();
    this.infrastructure.checkBy(async (next) => this.missingIn(next));
  }

  stored(): readonly StoredApplication[] {
    return this.collection.all();
  }

  /** Throws 404. */
  get(id: string): StoredApplication {
    return this.collection.get(id);
  }

  revisionOf(id: string): number {
    return this.collection.revisionOf(id);
  }

  onChange(listener: () => void): void {
    this.collection.onChange(listener);
  }

  create(definition: ApplicationDefinition, by: string): Promise<StoredApplication> {
    return this.collections.commit((batch) => {
      if (this.collection.find(definition.id))
        throw conflict(`There is an application "${definition.id}".`, [
          { pointer: '/id', detail: 'is in use', code: 'duplicate-id' },
        ]);
      return this.write(batch, definition, null, by);
    });
  }

  /** An equal definition changes nothing and does not restart the program. */
  put(definition: ApplicationDefinition, given: Precondition, by: string): Promise<StoredApplication> {
    return this.collections.commit((batch) => {
      const before = this.collection.find(definition.id);
      const ifMatch = given ?? null;
      const isAtRevision = ifMatch === null || ifMatch === String(before && this.collection.revisionOf(definition.id));
      if (before && isAtRevision && isDeepStrictEqual(before.definition, definition)) return before;
      if (before) requireRead(given, `application "${definition.id}"`, this.collection.revisionOf(definition.id));
      return this.write(batch, definition, ifMatch, by);
    });
  }

  restart(id: string, ifMatch: string | null, by: string): Promise<StoredApplication> {
    return this.collections.commit((batch) => {
      const { definition } = this.collection.get(id);
      if (!definition.enabled) throw conflict(`${id} is stopped; start it by "enabled".`);
      return this.write(batch, definition, ifMatch, by);
    });
  }

  remove(id: string, ifMatch: string | null, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      const { definition } = this.collection.get(id);
      batch.remove(this.collection, id, ifMatch);
      this.tell(batch, definition, 'deleted', by);
    });
  }

  /** What applications need from the current infrastructure that is missing in the next one. */
  private missingIn(next: Infrastructure): FieldError[] {
    const now = this.infrastructure.current.infrastructure;
    return this.stored().flatMap(({ definition }) => {
      if (applicationErrors(definition, [], now).length > 0) return [];
      return applicationErrors(definition, [], next).map(({ detail }) => ({
        pointer: now.servers.some(({ id }) => id === definition.node) ? '/servers' : '/hosts',
        detail: `application "${definition.id}" would not run: ${detail}`,
        code: 'in-use',
      }));
    });
  }

  private write(batch: Batch, definition: ApplicationDefinition, ifMatch: string | null, by: string) {
    const others = this.stored().map((other) => other.definition);
    const errors = applicationErrors(definition, others, this.infrastructure.current.infrastructure);
    if (errors.some(({ code }) => code === 'port-in-use')) throw conflict('The port is in use.', errors);
    if (errors.length > 0) throw invalid(errors);
    const before = this.collection.find(definition.id);
    const now = Date.now();
    const next: StoredApplication = {
      definition,
      run: Math.max(now, (before?.run ?? 0) + 1),
      created_ms: before?.created_ms ?? now,
      updated_ms: now,
    };
    batch.put(this.collection, next, ifMatch);
    this.tell(batch, definition, whatHappened(before?.definition, definition), by);
    return next;
  }

  private tell(batch: Batch, { id, kind, node }: ApplicationDefinition, what: What, by: string): void {
    batch.also((transaction) =>
      this.events.appendIn(transaction, {
        type: `application.${what}`,
        subject: id,
        message: `${id} (${kind} on ${node}) was ${what}`,
        actor: by,
        data: { kind, node },
      }),
    );
  }
}

function whatHappened(before: ApplicationDefinition | undefined, now: ApplicationDefinition): What {
  if (!before) return 'declared';
  if (isDeepStrictEqual(before, now)) return 'restarted';
  if (isDeepStrictEqual({ ...before, enabled: now.enabled }, now)) return now.enabled ? 'started' : 'stopped';
  return 'changed';
}
