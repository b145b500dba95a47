import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import {
  checkP4Program,
  type FieldError,
  floodsIn,
  type Infrastructure,
  type P4Assignment,
  type P4Entries,
  type P4Program,
  type P4ProgramFiles,
  type P4ProgramUpload,
  p4EntriesErrors,
  readP4Info,
} from '@orrery/contract';
import { CONFIG, type Config } from '../../platform/config.js';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { LOG, type Log } from '../../platform/log.js';
import { PROBES, type Probes } from '../../platform/probes.js';
import { conflict, invalid, notFound } from '../../platform/problem.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { type KnownProgram, NO_ENTRIES, type SwitchPrograms } from '../../ports/switch-programs.js';
import { type Examples, hashOf, readExamples } from './examples.js';
import { STORED_ENTRIES, STORED_PROGRAMS, type StoredEntries, type StoredProgram } from './stored.js';

/** Of all uploads together: they are kept in memory and in Redis. */
const MOST_BYTES = 64 * 1024 * 1024;

/** What is told of the files of a program. */
type ProgramReading = Pick<P4Program, 'content' | 'floods'>;

/** P4 programs that came with Orrery, and those that users uploaded. */
@Injectable()
export class P4ProgramsService implements SwitchPrograms, OnModuleInit, OnApplicationBootstrap {
  readonly entries: DurableCollection<StoredEntries>;
  private readonly uploads: DurableCollection<StoredProgram>;
  private examples: Examples = { programs: [], problems: [] };
  /** Content of the programs by hash: reading a large one again takes time. */
  private readonly readings = new Map<string, ProgramReading>();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Log,
    @Inject(PROBES) private readonly probes: Probes,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
  ) {
    this.uploads = collections.open(STORED_PROGRAMS);
    this.entries = collections.open(STORED_ENTRIES);
    infrastructure.checkBy(async (next) => this.errorsOf(next));
    infrastructure.onChange(() => this.forgetRemoved());
    this.uploads.onChange(({ removed }) => {
      for (const { hash } of removed) this.readings.delete(hash);
    });
  }

  async onModuleInit(): Promise<void> {
    this.examples = readExamples(this.config.p4Examples);
    for (const problem of this.examples.problems) this.log.warn({ problem }, 'an example of a P4 program was skipped');
    await Promise.all([this.uploads.load(), this.entries.load()]);
    this.probes.onHealth(() => {
      const problems = [...this.examples.problems, ...this.misfits()];
      const detail = problems.join('\n') || `${this.listed().length} P4 programs`;
      return [{ name: 'p4-programs', status: problems.length > 0 ? 'degraded' : 'ok', detail }];
    });
  }

  /** When the infrastructure has been read, too. */
  onApplicationBootstrap(): void {
    this.forgetRemoved();
  }

  onChange(listener: () => void): void {
    this.uploads.onChange(listener);
    this.entries.onChange(listener);
  }

  listed(): P4Program[] {
    const examples = this.examples.programs.filter(({ name }) => !this.uploads.find(name));
    const described = examples.map((one) => this.described(one, one.summary, null));
    const uploads = this.uploads.all().map((one) => this.described(one, '', one));
    return [...described, ...uploads].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Throws 404. */
  get(name: string): P4Program {
    const found = this.listed().find((one) => one.name === name);
    if (!found) throw notFound('P4 program', name);
    return found;
  }

  /** An upload keeps its name where a later release brings an example of the same. */
  find(name: string): KnownProgram | null {
    const found = this.uploads.find(name) ?? this.examples.programs.find((one) => one.name === name);
    if (!found) return null;
    const { hash, bmv2_json, p4info } = found;
    return { name, files: { hash, bmv2_json, p4info }, content: this.reading(found).content };
  }

  filesOf(hash: string): P4ProgramFiles | null {
    const found = [...this.examples.programs, ...this.uploads.all()].find((one) => one.hash === hash);
    return found ? { hash, bmv2_json: found.bmv2_json, p4info: found.p4info } : null;
  }

  assignmentOf(id: string, name: string): P4Assignment {
    const program = this.find(name);
    const kept = program && this.keptFor(id, program);
    return { name, hash: program?.files.hash ?? null, ...(kept?.errors.length === 0 ? kept.content : NO_ENTRIES) };
  }

  /**
   * What is stored for the switch and the program, also for one of the name that was compiled anew, and what of it does not fit
   * that one; null: nothing is stored. A port that is gone is the switch's to tell.
   */
  keptFor(id: string, { name, files, content }: KnownProgram): { content: P4Entries; errors: FieldError[] } | null {
    const stored = this.entries.find(id);
    if (stored?.program !== name) return null;
    const isOfIt = stored.hash === files.hash;
    const errors = isOfIt
      ? []
      : p4EntriesErrors(stored.content, content, new Map()).filter(({ code }) => code !== 'unknown-port');
    return { content: stored.content, errors };
  }

  create(upload: P4ProgramUpload, by: string): Promise<void> {
    const checked = checkP4Program(upload);
    if ('errors' in checked) throw invalid(checked.errors);
    const hash = hashOf(upload);
    return this.collections.commit((batch) => {
      if (this.find(upload.name))
        throw conflict(`There is a P4 program "${upload.name}".`, [
          { pointer: '/name', detail: 'is in use', code: 'duplicate-id' },
        ]);
      const bytes = [...this.uploads.all(), upload].reduce((sum, one) => sum + sizeOf(one), 0);
      if (bytes > MOST_BYTES)
        throw conflict(
          `The P4 programs would have more than ${MOST_BYTES / 1024 ** 2} MB together: remove some first.`,
        );
      batch.put(this.uploads, { ...upload, hash, by, created_ms: Date.now() });
      batch.also((transaction) =>
        this.events.appendIn(transaction, {
          type: 'p4-program.created',
          subject: upload.name,
          message: `The P4 program ${upload.title} was uploaded (${sizeOf(upload)} bytes)`,
          actor: by,
          data: { hash },
        }),
      );
    });
  }

  remove(name: string, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      if (!this.uploads.find(name) && this.examples.programs.some((one) => one.name === name))
        throw conflict(`"${name}" came with Orrery and cannot be removed.`);
      const { hash, title } = this.uploads.get(name);
      const users = this.switchesOf(name);
      if (users.length > 0)
        throw conflict(`"${name}" is in use: ${users.join(', ')} runs it.`, [
          { pointer: '', detail: `${users.join(', ')} runs it`, code: 'in-use' },
        ]);
      batch.remove(this.uploads, name);
      for (const stored of this.entries.all()) if (stored.program === name) batch.remove(this.entries, stored.switch);
      batch.also((transaction) =>
        this.events.appendIn(transaction, {
          type: 'p4-program.deleted',
          subject: name,
          message: `The P4 program ${title} was removed`,
          actor: by,
          data: { hash },
        }),
      );
    });
  }

  private errorsOf({ switches }: Infrastructure): FieldError[] {
    return switches.flatMap(({ driver, program }, index): FieldError[] => {
      const pointer = `/switches/${index}/program`;
      if (program === undefined) return [];
      if (driver === 'ovs')
        return [
          { pointer, detail: 'Open vSwitch runs no P4 program: use the driver p4 or bmv2', code: 'not-programmable' },
        ];
      if (this.find(program)) return [];
      const names = this.listed().map((one) => one.name);
      return [
        {
          pointer,
          detail: `there is no P4 program "${program}"; there are ${names.join(', ')}`,
          code: 'unknown-program',
        },
      ];
    });
  }

  /** Another switch of the name of one that was removed starts without entries. */
  private forgetRemoved(): void {
    const there = new Set(this.infrastructure.current.infrastructure.switches.map(({ id }) => id));
    const gone = this.entries.all().filter((stored) => !there.has(stored.switch));
    if (gone.length === 0) return;
    this.collections
      .commit((batch) => {
        for (const stored of gone) batch.remove(this.entries, stored.switch);
      })
      .catch((error: Error) => this.log.warn({ error: error.message }, 'entries of removed switches are still stored'));
  }

  private switchesOf(name: string): string[] {
    const { switches } = this.infrastructure.current.infrastructure;
    return switches.filter(({ program }) => program === name).map(({ id }) => id);
  }

  /** Switches whose stored entries do not fit their program, in words. */
  private misfits(): string[] {
    return this.infrastructure.current.infrastructure.switches.flatMap(({ id, program: name }) => {
      const program = name === undefined ? null : this.find(name);
      const [error] = (program && this.keptFor(id, program)?.errors) ?? [];
      const why = `do not fit ${name} as it is now and are left out: ${error?.pointer} ${error?.detail}`;
      return error ? [`the entries of ${id} ${why}`] : [];
    });
  }

  private described(
    one: P4ProgramUpload & { readonly hash: string },
    summary: string,
    stored: StoredProgram | null,
  ): P4Program {
    const { name, title, hash } = one;
    return {
      name,
      title,
      summary,
      hash,
      bytes: Buffer.byteLength(one.bmv2_json),
      ...this.reading(one),
      example: stored === null,
      by: stored?.by ?? null,
      created_ms: stored?.created_ms ?? null,
      switches: this.switchesOf(name),
    };
  }

  private reading(one: P4ProgramUpload & { readonly hash: string }): ProgramReading {
    const known = this.readings.get(one.hash);
    if (known) return known;
    const reading = { content: contentIn(one.p4info), floods: floodsIn(one.bmv2_json) };
    this.readings.set(one.hash, reading);
    return reading;
  }
}

/** It was checked when it was uploaded, perhaps by an earlier version, which took more. */
function contentIn(p4info: string): KnownProgram['content'] {
  try {
    return readP4Info(p4info);
  } catch {
    return { tables: [], actions: [], arrays: [] };
  }
}

const sizeOf = ({ bmv2_json, p4info }: Pick<P4ProgramUpload, 'bmv2_json' | 'p4info'>) =>
  Buffer.byteLength(bmv2_json) + Buffer.byteLength(p4info);
