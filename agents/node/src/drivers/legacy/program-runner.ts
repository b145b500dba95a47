import { isDeepStrictEqual } from 'node:util';
import type { LegacyProgram } from '@orrery/contract';
import type { DetachedProcess } from '../../platform/detached-process.js';
import type { HeartbeatTiming } from '../../platform/heartbeat.js';
import { log } from '../../platform/log.js';
import { emptyFolder } from '../../platform/remove-tree.js';
import type { HostedInstance, InstanceRecord, Runner } from '../hosted-instance.js';
import { DriverError } from '../nf-driver.js';
import { linksExist } from '../veth.js';
import { vethLinks } from '../veth-names.js';
import { diskLimitOf, diskUse, fileLimitOf, tooMuchOnDisk } from './disk-use.js';
import { DiskWatch } from './disk-watch.js';
import { nameFileLimit } from './file-limit.js';
import type { Housed, Housing, ProgramFolders, Signs } from './housing.js';
import { setUpOnce } from './namespace-commands.js';
import type { NetworkNamespace } from './network-namespace.js';
import { type FilledProgram, fill, layOut, listFiles } from './program-files.js';
import { ProgramInstance } from './program-instance.js';
import { FIRST, firstReport, REPORTS, reporter } from './program-report.js';
import type { Programs } from './programs.js';

const LOG_LINES = 20;
const MOST_FILES = 20;

/** Runs a legacy NF in a network namespace of its own. */
export class ProgramRunner implements Runner<ProgramInstance> {
  private readonly namespaces = new Map<string, NetworkNamespace>();
  /** What the namespaces were made for. */
  private readonly applied = new Map<string, LegacyProgram>();
  /** What they are set up for. */
  private readonly prepared = new Map<string, InstanceRecord>();
  /** How often their programs had as much on disk as they may have. */
  private readonly excesses = new Map<string, number>();

  constructor(
    private readonly programs: Programs,
    private readonly housing: Housing,
    private readonly heartbeat: HeartbeatTiming,
  ) {}

  async adopt(record: InstanceRecord): Promise<ProgramInstance | null> {
    const { instance_id: id } = record;
    const namespace = this.heldBy(id);
    const process = this.housing.running(id);
    const program = this.programs.of(record);
    if (namespace && program && !this.refusal(record) && (process !== null) === (program.command !== undefined))
      if (await this.mayGoOn({ record, program }, namespace, process))
        return this.run({ record, program }, namespace, process);
    process?.kill();
    return null;
  }

  /** One that an earlier agent still waited for is started again: opened as it is, it might not be ready for packets. */
  private async mayGoOn(
    housed: Housed,
    namespace: NetworkNamespace,
    process: DetachedProcess | null,
  ): Promise<boolean> {
    if (!(await this.linked(housed.record.instance_id))) return false;
    const isAwaited = process !== null && this.signs(housed, this.filled(housed), namespace, process)?.first;
    return !isAwaited || namespace.isOpen();
  }

  async start(record: InstanceRecord): Promise<ProgramInstance> {
    const { instance_id: id, config } = record;
    const refusal = this.refusal(record);
    if (refusal) throw refusal;
    const program = this.programs.of(record)!;
    const housed = { record, program };
    const filled = this.filled(housed);
    await this.housing.provide?.(housed);
    // What an earlier run has left would go on writing.
    this.heldBy(id)?.killMembers();
    await this.makeRoom(housed);
    await layOut(filled, config, this.folders(record).files);
    const namespace = await this.namespace(housed);
    if (program.forwarding !== 'tap') await namespace.close();
    namespace.killMembers();
    await this.prepare(housed, filled, namespace);
    const process = filled.command && (await this.housing.spawn(housed, namespace, filled.command));
    const signs = process && this.signs(housed, filled, namespace, process);
    if (process && signs?.first) await firstReport(process, signs.first, (how) => this.explain(housed, how), id);
    // A container sets itself up, and may have flushed the namespace's rules.
    if (this.programs.imageOf(record)) await this.orRemoved(namespace, () => namespace.forward(program.forwarding));
    await this.orRemoved(namespace, () => namespace.open());
    return this.run(housed, namespace, process);
  }

  /** Only images can be lacking: what programs need is installed or not. */
  provide(record: InstanceRecord): Promise<void> | null {
    if (!this.programs.imageOf(record) || this.isRunBy(record)) return null;
    const refusal = this.refusal(record);
    if (refusal) return Promise.reject(refusal);
    return this.housing.provide?.({ record, program: this.programs.of(record)! }) ?? null;
  }

  /**
   * Without a program there is nothing to restart: the kernel takes the new configuration while packets pass. If it is
   * refused, what was set up before is set up again.
   */
  async configure(_running: ProgramInstance, record: InstanceRecord): Promise<boolean> {
    const { instance_id: id } = record;
    const program = this.programs.of(record);
    const namespace = this.namespaces.get(id);
    if (this.isRunBy(record)) return true;
    if (!program || program.command || !namespace || !this.isMadeFor(id, program)) return false;
    const setUp = async (of: InstanceRecord) => {
      const housed = { record: of, program };
      const filled = this.filled(housed);
      await layOut(filled, of.config, this.folders(of).files);
      await this.prepare(housed, filled, namespace);
    };
    try {
      await setUp(record);
    } catch (error) {
      const before = this.prepared.get(id);
      if (before) await setUp(before);
      throw error;
    }
    this.prepared.set(id, record);
    return true;
  }

  interfaces(instanceId: string): readonly string[] {
    const { near, far } = vethLinks(instanceId);
    return [near.engine, far.engine];
  }

  async relink(instanceId: string): Promise<void> {
    const namespace = this.namespaces.get(instanceId);
    if (!namespace) throw new DriverError('it has no network namespace', instanceId);
    if (await namespace.isWhole()) return namespace.open();
    // An instance whose interfaces are gone is made anew.
    await namespace.removeLinks();
    throw new DriverError('its program has renamed, moved or replaced its interfaces', instanceId);
  }

  linked(instanceId: string): Promise<boolean> {
    return linksExist(vethLinks(instanceId));
  }

  progress(instanceId: string): string | null {
    return this.housing.progress?.(instanceId) ?? null;
  }

  abandon(instanceId: string): void {
    this.housing.abandon?.(instanceId);
  }

  async clear(instanceId: string): Promise<void> {
    await this.heldBy(instanceId)?.remove();
    this.namespaces.delete(instanceId);
    this.applied.delete(instanceId);
    this.prepared.delete(instanceId);
    this.excesses.delete(instanceId);
    await this.housing.clear(instanceId);
  }

  /** The last lines that the program of an instance wrote. */
  log(instanceId: string, lines: number): Promise<string> {
    return this.housing.log(instanceId, lines);
  }

  /** What is known of an instance. */
  async stateOf(
    instance: Pick<HostedInstance<ProgramInstance>, 'record' | 'restarts' | 'observed'>,
    running: ProgramInstance | null,
  ): Promise<Record<string, unknown>> {
    const { record, restarts, observed } = instance;
    const { instance_id: id, nf, config } = record;
    const program = this.programs.of(record);
    return {
      nf,
      config,
      state: observed.state,
      restarts,
      pid: running?.pid ?? null,
      forwarding: program?.forwarding ?? null,
      preserves: program?.preserves ?? [],
      ...(program?.report ? { report: running?.figures ?? {} } : {}),
      limits: program?.command && running ? this.housing.limits({ record, program }, running) : {},
      ...(program?.command && !this.programs.imageOf(record) ? { disk: this.diskOf(id, program, running) } : {}),
      files: listFiles(this.folders(record).files, MOST_FILES),
      log: await this.housing.log(id, LOG_LINES),
    };
  }

  private refusal(record: InstanceRecord): DriverError | null {
    return this.programs.refusal(record, this.housing.kind);
  }

  private folders({ instance_id, nf }: InstanceRecord): ProgramFolders {
    return this.housing.folders(instance_id, this.programs.directoryOf(nf));
  }

  private filled(housed: Housed): FilledProgram {
    const { record, program } = housed;
    const { seen, nf_dir } = this.folders(record);
    const filled = fill(program, record.config, seen, nf_dir);
    const { setup, command, report } = filled;
    const lacking = [...setup, ...(command ? [command] : []), ...(report ? [report] : [])].find(
      ([it]) => !this.housing.has(housed, it ?? ''),
    );
    if (!lacking) return filled;
    const { packages } = program;
    const remedy = packages.length > 0 ? `; install ${packages.join(', ')}` : '';
    throw new DriverError(`${lacking[0]} is not installed here${remedy}`, record.instance_id, true);
  }

  private async prepare(housed: Housed, { setup }: FilledProgram, namespace: NetworkNamespace): Promise<void> {
    const entry = this.housing.entry(housed, namespace);
    for (const command of setup) await setUpOnce(entry, command);
    // After the setup, which may have flushed the namespace's rules.
    await this.orRemoved(namespace, () => namespace.forward(housed.program.forwarding));
  }

  /** A namespace in which a program has spoilt the interfaces is of no more use: the next start makes another. */
  private async orRemoved(namespace: NetworkNamespace, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await namespace.remove().catch((left) => log('warning', `a network namespace is left: ${left.message}`));
      throw error;
    }
  }

  /** A program that would be ended at once begins with an empty folder. */
  private async makeRoom({ record, program }: Housed): Promise<void> {
    const { files } = this.folders(record);
    const limit_bytes = diskLimitOf(program);
    if (!program.command || (await diskUse(files, limit_bytes)).bytes < limit_bytes) return;
    this.excesses.set(record.instance_id, this.excessesOf(record.instance_id) + 1);
    log('warning', `${record.instance_id}: ${tooMuchOnDisk(limit_bytes)}`);
    await emptyFolder(files);
  }

  private excessesOf(id: string): number {
    return this.excesses.get(id) ?? 0;
  }

  private diskOf(id: string, program: LegacyProgram, running: ProgramInstance | null) {
    const used_bytes = running?.disk_bytes ?? null;
    const unread = running?.disk_unread ?? null;
    return { used_bytes, unread, limit_bytes: diskLimitOf(program), excesses: this.excessesOf(id) };
  }

  /** How a program ended, in words. */
  private async explain({ record, program }: Housed, how: string): Promise<string> {
    return nameFileLimit(await this.housing.explain(record.instance_id, how), fileLimitOf(program));
  }

  /** The instance, which takes no packets without its program where the kernel would pass them on unprocessed. */
  private run(housed: Housed, namespace: NetworkNamespace, process: DetachedProcess | null): ProgramInstance {
    const { record, program } = housed;
    const { instance_id: id } = record;
    this.namespaces.set(id, namespace);
    this.applied.set(id, program);
    this.prepared.set(id, record);
    if (program.forwarding === 'bridge' || program.forwarding === 'route')
      process?.ended
        .then(() => namespace.close())
        .catch((error) => log('warning', `${id} still takes packets without its program: ${error.message}`));
    const signs = process && this.signs(housed, this.filled(housed), namespace, process);
    return new ProgramInstance(id, namespace, process, {
      timing: signs?.timing ?? this.heartbeat,
      ask: signs?.ask,
      kill: signs?.kill,
      explain: (how) => this.explain(housed, how),
      // A container of an image has nothing that it can write to but memory.
      disk: this.programs.imageOf(record)
        ? null
        : new DiskWatch({
            folder: this.folders(record).files,
            limit_bytes: diskLimitOf(program),
            members: () => namespace.members(),
          }),
    });
  }

  private signs(
    housed: Housed,
    { report }: FilledProgram,
    namespace: NetworkNamespace,
    process: DetachedProcess,
  ): Signs | null {
    if (!report) return this.housing.signs?.(housed, process) ?? null;
    const ask = reporter(this.housing.besides(housed, namespace, process), report);
    return { ask, timing: REPORTS, first: { ...FIRST, ask } };
  }

  /** With both interfaces; made anew if anything is missing, or it was another program's. */
  private async namespace(housed: Housed): Promise<NetworkNamespace> {
    const { record, program } = housed;
    const { instance_id: id } = record;
    const known = this.heldBy(id);
    if (known && this.isMadeFor(id, program) && (await known.isWhole())) return known;
    await known?.remove();
    const made = await this.housing.create(housed);
    this.namespaces.set(id, made);
    this.applied.set(id, program);
    return made;
  }

  /** Whether the container of an image that was started last is what a record asks for: none is changed in place. */
  private isRunBy(record: InstanceRecord): boolean {
    const last = this.prepared.get(record.instance_id);
    return this.programs.imageOf(record) !== undefined && last?.digest === record.digest;
  }

  private isMadeFor(id: string, program: LegacyProgram): boolean {
    return isDeepStrictEqual(program, this.applied.get(id));
  }

  private heldBy(id: string): NetworkNamespace | null {
    const known = this.namespaces.get(id);
    if (known?.holder.alive) return known;
    return this.housing.held(id);
  }
}
