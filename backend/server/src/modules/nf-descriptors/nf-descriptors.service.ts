import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { CataloguedNf, EventDraft, FieldError, LearntProfile, NfDescriptor } from '@orrery/contract';
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
import { LEARNT_PROFILES, type StoredProfiles, withLearnt } from './learnt.js';
import { STORED_DESCRIPTORS, type StoredDescriptor } from './stored.js';

/** Many times what any check of a description needs, to keep the event loop free. */
const CHECK_MS = 500;
const REVISION_DIGITS = 16;
type What = 'created' | 'changed' | 'deleted';

/** NFs that came with Orrery, and legacy NFs that users described, with the profiles that were learnt. */
@Injectable()
export class NfDescriptorsService implements DescriptorCatalogue, OnModuleInit {
  private loaded: LoadedCatalogue = { descriptors: [], problems: [] };
  private known: readonly NfDescriptor[] | null = null;
  private readonly revisions = new WeakMap<NfDescriptor, string>();
  private useOf: (nf: string) => NfUse = () => ({ deployed: [], drafted: [] });
  private readonly written: DurableCollection<StoredDescriptor>;
  private readonly learnt: DurableCollection<StoredProfiles>;
  private declaredNow: readonly NfDescriptor[] | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Log,
    @Inject(PROBES) private readonly probes: Probes,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.written = collections.open(STORED_DESCRIPTORS);
    this.learnt = collections.open(LEARNT_PROFILES);
    for (const collection of [this.written, this.learnt]) collection.onChange(() => this.renew());
  }

  async onModuleInit(): Promise<void> {
    this.loaded = await loadCatalogue(this.config.catalogue);
    await this.written.load();
    await this.learnt.load();
    this.renew();
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
    this.known ??= this.declared().map((descriptor) => {
      const profiles = this.learntOf(descriptor);
      return profiles.length > 0 ? withLearnt(descriptor, profiles) : descriptor;
    });
    return this.known;
  }

  /** With the profiles that they declare. */
  private declared(): readonly NfDescriptor[] {
    this.declaredNow ??= [...this.loaded.descriptors, ...this.ofUsers().map(({ descriptor }) => descriptor)].sort(byId);
    return this.declaredNow;
  }

  /** As it is declared, without what was learnt. Throws 404. */
  declaredBy(id: string): NfDescriptor {
    const declared = this.declared().find((descriptor) => descriptor.id === id);
    if (!declared) throw notFound('NF descriptor', id);
    return declared;
  }

  /** Plans reckon with the profile from now on. Throws 404. */
  learn(id: string, profile: LearntProfile): Promise<void> {
    return this.collections.commit((batch) => {
      const declared = this.declaredBy(id);
      const others = this.learntOf(declared).filter(({ driver }) => driver !== profile.driver);
      const profiles = [...others, profile];
      batch.put(this.learnt, { nf: id, declared_revision: this.revisionFor(declared), profiles });
      const { driver, factor, by } = profile;
      this.append(batch, {
        type: 'nf-descriptor.learnt',
        subject: id,
        message: `Plans reckon with ${factor.toFixed(2)} times the declared cycles of ${declared.title} (${driver})`,
        actor: by,
        data: { driver, factor },
      });
    });
  }

  /** Plans reckon with what is declared again. Throws 404 if nothing was learnt. */
  forget(id: string, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      batch.remove(this.learnt, this.learnt.get(id).nf);
      const message = `Plans reckon with the declared profiles of ${id}`;
      this.append(batch, { type: 'nf-descriptor.forgotten', subject: id, message, actor: by, data: {} });
    });
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
    return this.revisionFor(descriptor);
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
      batch.remove(this.learnt, id);
      this.tell(batch, descriptor, 'deleted', by);
    });
  }

  private revisionFor(descriptor: NfDescriptor): string {
    const revision = this.revisions.get(descriptor) ?? sha256(JSON.stringify(descriptor)).slice(0, REVISION_DIGITS);
    this.revisions.set(descriptor, revision);
    return revision;
  }

  private renew(): void {
    this.known = null;
    this.declaredNow = null;
  }

  private learntOf(declared: NfDescriptor): readonly LearntProfile[] {
    const stored = this.learnt.find(declared.id);
    return stored && stored.declared_revision === this.revisionFor(declared) ? stored.profiles : [];
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
    const profiles = this.learntOf(this.declaredBy(descriptor.id));
    const learnt = profiles.length > 0 ? { learnt: [...profiles] } : {};
    const stored = this.ofUsers().find((it) => it.descriptor.id === descriptor.id);
    if (!stored) return { ...descriptor, ...learnt };
    const { by, updated_ms } = stored;
    return { ...descriptor, ...learnt, written: { by, updated_ms, revision: this.written.revisionOf(descriptor.id) } };
  }

  private write(batch: Batch, descriptor: NfDescriptor, ifMatch: string | null, what: What, by: string): void {
    const errors = errorsOf(descriptor);
    if (errors.length > 0) throw invalid(errors);
    batch.put(this.written, { descriptor, by, updated_ms: Date.now() }, ifMatch);
    this.tell(batch, descriptor, what, by);
  }

  private tell(batch: Batch, { id, title, version }: NfDescriptor, what: What, by: string): void {
    this.append(batch, {
      type: `nf-descriptor.${what}`,
      subject: id,
      message: `The legacy NF ${title} (${version}) was ${what}`,
      actor: by,
      data: { version },
    });
  }

  private append(batch: Batch, event: EventDraft): void {
    batch.also((transaction) => this.events.appendIn(transaction, event));
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
