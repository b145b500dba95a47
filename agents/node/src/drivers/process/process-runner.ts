import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { LegacyProgram } from '@orrery/contract';
import { type Limits, limitsOf, makeControlGroup, removeControlGroup, within } from '../../platform/cgroup.js';
import { DetachedProcess } from '../../platform/detached-process.js';
import { tail } from '../../platform/file-tail.js';
import type { HeartbeatTiming } from '../../platform/heartbeat.js';
import { log } from '../../platform/log.js';
import type { InstanceRecord, Runner } from '../hosted-instance.js';
import { DriverError, unknownNf } from '../nf-driver.js';
import { linksExist } from '../veth.js';
import { stemOf, vethLinks } from '../veth-names.js';
import { confined, isInstalled, PROGRAM_ENV, setUpOnce } from './namespace-commands.js';
import { NetworkNamespace } from './network-namespace.js';
import { ProcessInstance } from './process-instance.js';
import { type FilledProgram, fill, layOut } from './program-files.js';
import { firstReport, REPORTS, reporter } from './program-report.js';
import type { InstalledNf } from './registry.js';

/** A program that ends so soon cannot be used as it is configured. */
const SETTLED_MS = 200;
const SAID_CHARS = 300;

const LIMITS: Limits = { cpus: 1, memory_bytes: 512 * 2 ** 20 };

/** Runs a legacy NF in a network namespace of its own. */
export class ProcessRunner implements Runner<ProcessInstance> {
  private readonly namespaces = new Map<string, NetworkNamespace>();
  /** What the namespaces were made for. */
  private readonly applied = new Map<string, LegacyProgram>();
  /** What they are set up for. */
  private readonly prepared = new Map<string, InstanceRecord>();

  constructor(
    private readonly registry: ReadonlyMap<string, InstalledNf>,
    /** Whether it runs what is not installed with the agent: programs of descriptors that users wrote. */
    private readonly runsAny: boolean,
    private readonly folder: string,
    private readonly heartbeat: HeartbeatTiming,
  ) {}

  /** What it runs for an NF. One that came with the agent is never replaced by what a server says. */
  programOf({ nf, program }: Pick<InstanceRecord, 'nf' | 'program'>): LegacyProgram | undefined {
    return this.registry.get(nf)?.program ?? program;
  }

  async adopt(record: InstanceRecord): Promise<ProcessInstance | null> {
    const { instance_id: id } = record;
    const namespace = this.heldBy(id);
    const program = DetachedProcess.adopt(this.programFiles(id));
    const wanted = this.programOf(record);
    if (namespace && wanted && !this.refusal(record) && (program !== null) === (wanted.command !== undefined))
      if (await this.linked(id)) return this.run(record, wanted, namespace, program);
    program?.kill();
    return null;
  }

  async start(record: InstanceRecord): Promise<ProcessInstance> {
    const { instance_id: id, config } = record;
    const refusal = this.refusal(record);
    if (refusal) throw refusal;
    const program = this.programOf(record)!;
    const directory = this.directory(id);
    const filled = this.filled(record, program);
    layOut(filled, config, directory);
    const namespace = await this.namespace(id, program);
    if (program.forwarding !== 'tap') await namespace.close();
    namespace.killMembers();
    await this.prepare(program, filled, namespace, directory);
    const process = filled.command && (await this.spawn(id, namespace, filled.command));
    if (process && filled.report) await firstReport(process, reporter(namespace.pid, directory, filled.report), id);
    await namespace.open();
    return this.run(record, program, namespace, process);
  }

  /**
   * Without a program there is nothing to restart: the kernel takes the new configuration while packets pass. If it is
   * refused, what was set up before is set up again.
   */
  async configure(_running: ProcessInstance, record: InstanceRecord): Promise<boolean> {
    const { instance_id: id } = record;
    const program = this.programOf(record);
    const namespace = this.namespaces.get(id);
    if (!program || program.command || !namespace || !this.isMadeFor(id, program)) return false;
    const setUp = async (of: InstanceRecord) => {
      const filled = this.filled(of, program);
      layOut(filled, of.config, this.directory(id));
      await this.prepare(program, filled, namespace, this.directory(id));
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
    await namespace.open();
  }

  linked(instanceId: string): Promise<boolean> {
    return linksExist(vethLinks(instanceId));
  }

  async clear(instanceId: string): Promise<void> {
    await this.heldBy(instanceId)?.remove();
    this.namespaces.delete(instanceId);
    this.applied.delete(instanceId);
    this.prepared.delete(instanceId);
    removeControlGroup(this.groupOf(instanceId));
  }

  directory(instanceId: string): string {
    return join(this.folder, stemOf(instanceId));
  }

  /** The limits that hold for its program; none where control groups cannot be written to. */
  limitsOf(instanceId: string, { pid }: ProcessInstance): Partial<Limits> {
    return limitsOf(pid, this.groupOf(instanceId), LIMITS);
  }

  logFile(instanceId: string): string {
    return this.programFiles(instanceId).log_file;
  }

  private refusal({ nf, program, instance_id }: InstanceRecord): DriverError | null {
    if (this.registry.has(nf)) return null;
    if (!program) return unknownNf('process', nf, [...this.registry.keys()]);
    if (this.runsAny) return null;
    return new DriverError(
      `this node does not run the programs of users: its operator has to start the agent with --legacy-nfs on`,
      instance_id,
      true,
    );
  }

  private filled({ instance_id, nf, config }: InstanceRecord, program: LegacyProgram): FilledProgram {
    const filled = fill(program, config, this.directory(instance_id), this.registry.get(nf)?.directory ?? null);
    const { setup, command, report } = filled;
    const lacking = [...setup, ...(command ? [command] : []), ...(report ? [report] : [])].find(
      ([it]) => !isInstalled(it ?? ''),
    );
    if (!lacking) return filled;
    const { packages } = program;
    const remedy = packages.length > 0 ? `; install ${packages.join(', ')}` : '';
    throw new DriverError(`${lacking[0]} is not installed here${remedy}`, instance_id, true);
  }

  private async prepare(
    { forwarding }: LegacyProgram,
    { setup }: FilledProgram,
    namespace: NetworkNamespace,
    directory: string,
  ): Promise<void> {
    for (const command of setup) await setUpOnce(namespace.pid, directory, command);
    // After the setup, which may have flushed the namespace's rules.
    await namespace.forward(forwarding);
  }

  private async spawn(id: string, { pid }: NetworkNamespace, command: readonly string[]): Promise<DetachedProcess> {
    const group = makeControlGroup(this.groupOf(id), LIMITS);
    const [program, ...args] = within(group, confined(pid, this.directory(id), command));
    const files = this.programFiles(id);
    const started = await DetachedProcess.start({ command: program!, args, env: PROGRAM_ENV, ...files });
    const how = await Promise.race([started.ended, sleep(SETTLED_MS, null)]);
    if (how === null) return started;
    const said = tail(files.log_file).trimEnd().split('\n').at(-1) ?? '';
    throw new DriverError(
      [`${command[0]} ended at once: ${how}`, said.slice(0, SAID_CHARS)].filter(Boolean).join(': '),
      id,
    );
  }

  /** The instance, which takes no packets without its program where the kernel would pass them on unprocessed. */
  private run(
    record: InstanceRecord,
    program: LegacyProgram,
    namespace: NetworkNamespace,
    process: DetachedProcess | null,
  ): ProcessInstance {
    const { instance_id: id } = record;
    this.namespaces.set(id, namespace);
    this.applied.set(id, program);
    this.prepared.set(id, record);
    if (program.forwarding === 'bridge' || program.forwarding === 'route')
      process?.ended
        .then(() => namespace.close())
        .catch((error) => log('warning', `${id} still takes packets without its program: ${error.message}`));
    const { report } = this.filled(record, program);
    if (!report) return new ProcessInstance(id, namespace, process, this.heartbeat);
    const ask = reporter(namespace.pid, this.directory(id), report);
    return new ProcessInstance(id, namespace, process, REPORTS, ask);
  }

  /** With both interfaces; made anew if anything is missing, or it was another program's. */
  private async namespace(id: string, program: LegacyProgram): Promise<NetworkNamespace> {
    const known = this.heldBy(id);
    if (known && this.isMadeFor(id, program) && (await this.linked(id))) return known;
    await known?.remove();
    const made = await NetworkNamespace.create(this.holderFiles(id), vethLinks(id));
    this.namespaces.set(id, made);
    this.applied.set(id, program);
    return made;
  }

  private isMadeFor(id: string, program: LegacyProgram): boolean {
    return isDeepStrictEqual(program, this.applied.get(id));
  }

  private heldBy(id: string): NetworkNamespace | null {
    const known = this.namespaces.get(id);
    if (known?.holder.alive) return known;
    return NetworkNamespace.adopt(this.holderFiles(id), vethLinks(id));
  }

  /** Unique on a machine with several agents. */
  private groupOf(id: string): string {
    return `orrery-${createHash('sha256').update(this.directory(id)).digest('hex').slice(0, 16)}`;
  }

  private holderFiles(id: string) {
    return { pid_file: join(this.directory(id), 'holder.pid'), log_file: join(this.directory(id), 'holder.log') };
  }

  private programFiles(id: string) {
    return { pid_file: join(this.directory(id), 'nf.pid'), log_file: join(this.directory(id), 'nf.log') };
  }
}
