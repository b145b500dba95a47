import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { CataloguedNf, FieldError, NfDescriptor } from '@orrery/contract';
import { CONFIG, type Config } from '../../platform/config.js';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { sha256 } from '../../platform/ids.js';
import { LOG, type Log } from '../../platform/log.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { PROBES, type Probes } from '../../platform/probes.js';
import { conflict, invalid, notFound } from '../../platform/problem.js';
import { OutOfTime, withinMs } from '../../platform/time-limit.js';
import type { DescriptorCatalogue, NfUse } from '../../ports/descriptor-catalogue.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { type LoadedCatalogue, loadCatalogue } from './catalogue.js';
import { isNewer, legacyNfErrors } from './check.js';
import { STORED_DESCRIPTORS, type StoredDescriptor } from './stored.js';

/** Many times what any check of a description needs, to keep the event loop free. */
const CHECK_MS = 500;
const REVISION_DIGITS = 16;
type What = 'created' | 'changed' | 'deleted';

/** NFs that came with Orrery, and legacy NFs that users described. */
@Injectable()
export class NfDescriptorsService implements DescriptorCatalogue, OnModuleInit {
  private loaded: LoadedCatalogue = { descriptors: [], problems: [] };
  private known: readonly NfDescriptor[] | null = null;
  private readonly revisions = new WeakMap<NfDescriptor, string>();
  private useOf: (nf: string) => NfUse = () => ({ deployed: [], drafted: [] });
  private readonly written: DurableCollection<StoredDescriptor>;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Log,
    @Inject(PROBES) private readonly probes: Probes,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.written = collections.open(STORED_DESCRIPTORS);
    this.written.onChange(() => {
      this.known = null;
    });
  }

  async onModuleInit(): Promise<void> {
    this.loaded = await loadCatalogue(this.config.catalogue);
    await this.written.load();
    this.known = null;
    for (const problem of this.loaded.problems) this.log.warn({ problem }, 'a descriptor was skipped');
    this.probes.onHealth(() => [
      {
        name: 'catalogue',
        status: this.loaded.problems.length > 0 ? 'degraded' : 'ok',
        detail: this.loaded.problems.join('\n') || `${this.all().length} network functions`,
      },
    ]);
  }

  all(): readonly NfDescriptor[] {
    this.known ??= [...this.loaded.descriptors, ...this.ofUsers().map(({ descriptor }) => descriptor)].sort(byId);
    return this.known;
  }

  find(id: string): NfDescriptor | undefined {
    return this.all().find((descriptor) => descriptor.id === id);
  }

  legacyOfUsers(): readonly string[] {
    return this.ofUsers().map(({ descriptor }) => descriptor.id);
  }

  revisionOf(id: string): string | null {
    const descriptor = this.find(id);
    if (!descriptor) return null;
    const revision = this.revisions.get(descriptor) ?? sha256(JSON.stringify(descriptor)).slice(0, REVISION_DIGITS);
    this.revisions.set(descriptor, revision);
    return revision;
  }

  askUse(useOf: (nf: string) => NfUse): void {
    this.useOf = useOf;
  }

  listed(): CataloguedNf[] {
    return this.all().map((descriptor) => this.described(descriptor));
  }

  /** Throws 404. */
  get(id: string): CataloguedNf {
    const descriptor = this.find(id);
    if (!descriptor) throw notFound('NF descriptor', id);
    return this.described(descriptor);
  }

  create(descriptor: NfDescriptor, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      if (this.find(descriptor.id))
        throw conflict(`There is an NF "${descriptor.id}".`, [
          { pointer: '/id', detail: 'is in use', code: 'duplicate-id' },
        ]);
      this.write(batch, descriptor, null, 'created', by);
    });
  }

  /** An equal descriptor changes nothing. */
  put(descriptor: NfDescriptor, given: Precondition, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      const { id, version } = descriptor;
      const before = this.ofUser(id, 'changed').descriptor;
      const ifMatch = requireRead(given, `NF "${id}"`, this.written.revisionOf(id));
      if (isDeepStrictEqual(before, descriptor)) return;
      const { deployed } = this.useOf(id);
      if (deployed.length > 0) throw inUse(id, `${deployed.join(', ')} runs it`);
      if (!isNewer(version, before.version))
        throw invalid([{ pointer: '/version', detail: `must be higher than ${before.version}`, code: 'not-newer' }]);
      this.write(batch, descriptor, ifMatch, 'changed', by);
    });
  }

  remove(id: string, ifMatch: string | null, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      const { descriptor } = this.ofUser(id, 'removed');
      const { deployed, drafted } = this.useOf(id);
      if (deployed.length > 0) throw inUse(id, `${deployed.join(', ')} runs it`);
      if (drafted.length > 0) throw inUse(id, `${drafted.join(', ')} has it`);
      batch.remove(this.written, id, ifMatch);
      this.tell(batch, descriptor, 'deleted', by);
    });
  }

  /** Those whose names do not belong to an NF of Orrery: a later release may bring one. */
  private ofUsers(): StoredDescriptor[] {
    const own = new Set(this.loaded.descriptors.map(({ id }) => id));
    return this.written.all().filter(({ descriptor }) => !own.has(descriptor.id));
  }

  private ofUser(id: string, what: string): StoredDescriptor {
    if (this.loaded.descriptors.some((descriptor) => descriptor.id === id))
      throw conflict(`"${id}" came with Orrery and cannot be ${what}.`);
    return this.written.get(id);
  }

  private described(descriptor: NfDescriptor): CataloguedNf {
    const stored = this.ofUsers().find((it) => it.descriptor.id === descriptor.id);
    if (!stored) return descriptor;
    const { by, updated_ms } = stored;
    return { ...descriptor, written: { by, updated_ms, revision: this.written.revisionOf(descriptor.id) } };
  }

  private write(batch: Batch, descriptor: NfDescriptor, ifMatch: string | null, what: What, by: string): void {
    const errors = errorsOf(descriptor);
    if (errors.length > 0) throw invalid(errors);
    batch.put(this.written, { descriptor, by, updated_ms: Date.now() }, ifMatch);
    this.tell(batch, descriptor, what, by);
  }

  private tell(batch: Batch, { id, title, version }: NfDescriptor, what: What, by: string): void {
    batch.also((transaction) =>
      this.events.appendIn(transaction, {
        type: `nf-descriptor.${what}`,
        subject: id,
        message: `The legacy NF ${title} (${version}) was ${what}`,
        actor: by,
        data: { version },
      }),
    );
  }
}

function errorsOf(descriptor: NfDescriptor): FieldError[] {
  try {
    return withinMs(CHECK_MS, () => legacyNfErrors(descriptor));
  } catch (error) {
    if (!(error instanceof OutOfTime)) throw error;
    const detail = 'takes too long to check /default_config: its patterns need to be simpler';
    return [{ pointer: '/config_schema', detail, code: 'too-complex' }];
  }
}

function byId(a: NfDescriptor, b: NfDescriptor): number {
  return a.id < b.id ? -1 : 1;
}

function inUse(id: string, why: string) {
  return conflict(`"${id}" is in use: ${why}.`, [{ pointer: '', detail: why, code: 'in-use' }]);
}
