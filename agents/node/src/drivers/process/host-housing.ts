import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Limits, limitsOf, makeControlGroup, membersOf, removeControlGroup } from '../../platform/cgroup.js';
import { DetachedProcess } from '../../platform/detached-process.js';
import { tail } from '../../platform/file-tail.js';
import { readable } from '../../platform/readable.js';
import { fileLimitOf } from '../legacy/disk-use.js';
import { nameFileLimit } from '../legacy/file-limit.js';
import type { Housed, Housing, ProgramFolders } from '../legacy/housing.js';
import { confined, type Entry, isInstalled, PROGRAM_ENV } from '../legacy/namespace-commands.js';
import { NetworkNamespace } from '../legacy/network-namespace.js';
import { DriverError } from '../nf-driver.js';
import { stemOf, vethLinks } from '../veth-names.js';

/** A program that ends so soon cannot be used as it is configured. */
const SETTLED_MS = 200;
const SAID_CHARS = 300;
const LOOK_MS = 20;
const MOST_LOOKS = 50;

const LIMITS: Limits = { cpus: 1, memory_bytes: 512 * 2 ** 20, processes: 256 };

/** In the folder of an instance: what is the program's. The rest is the agent's. */
const FILES_FOLDER = 'program';

/** A network namespace on the host, held by a process that does nothing else. */
export class HostHousing implements Housing {
  readonly kind = 'process';

  constructor(private readonly folder: string) {}

  folders(instanceId: string, nf_dir: string | null): ProgramFolders {
    const files = join(this.directory(instanceId), FILES_FOLDER);
    return { files, seen: files, nf_dir };
  }

  has(_housed: Housed, program: string): boolean {
    return isInstalled(program);
  }

  held(instanceId: string): NetworkNamespace | null {
    const holder = DetachedProcess.adopt(this.holderFiles(instanceId));
    return holder && NetworkNamespace.found(holder, vethLinks(instanceId), this.groupOf(instanceId));
  }

  async create({ record: { instance_id: id } }: Housed): Promise<NetworkNamespace> {
    const holder = await DetachedProcess.start({
      command: 'unshare',
      args: ['--net', '--', 'sleep', 'infinity'],
      ...this.holderFiles(id),
    });
    return NetworkNamespace.heldBy(holder, vethLinks(id), this.groupOf(id));
  }

  entry({ record: { instance_id: id }, program }: Housed, { pid }: NetworkNamespace): Entry {
    const group = makeControlGroup(this.groupOf(id), LIMITS);
    return { pid, directory: this.folders(id, null).files, contained: null, group, file_bytes: fileLimitOf(program) };
  }

  besides(housed: Housed, namespace: NetworkNamespace): Entry {
    return this.entry(housed, namespace);
  }

  running(instanceId: string): DetachedProcess | null {
    return DetachedProcess.adopt(this.programFiles(instanceId));
  }

  async spawn(housed: Housed, namespace: NetworkNamespace, command: readonly string[]): Promise<DetachedProcess> {
    const { instance_id: id } = housed.record;
    const [program, ...args] = confined(this.entry(housed, namespace), command);
    const files = this.programFiles(id);
    const started = await DetachedProcess.start({ command: program!, args, env: PROGRAM_ENV, ...files });
    const how = await Promise.race([started.ended, sleep(SETTLED_MS, null)]);
    if (how === null) return started;
    const said = tail(files.log_file).trimEnd().split('\n').at(-1) ?? '';
    const told = [`${command[0]} ended at once: ${how}`, readable(said, SAID_CHARS)].filter(Boolean).join(': ');
    throw new DriverError(nameFileLimit(told, fileLimitOf(housed.program)), id);
  }

  async explain(_instanceId: string, how: string): Promise<string> {
    return `the process ended: ${how}`;
  }

  async clear(instanceId: string): Promise<void> {
    const group = this.groupOf(instanceId);
    // What was killed is not gone at once.
    for (let looks = 0; looks < MOST_LOOKS && membersOf(group).length > 0; looks++) await sleep(LOOK_MS);
    removeControlGroup(group);
  }

  /** None where control groups cannot be written to. */
  limits({ record: { instance_id } }: Housed, { pid }: { pid: number }): Partial<Limits> {
    return limitsOf(pid, this.groupOf(instance_id), LIMITS);
  }

  async log(instanceId: string, lines: number): Promise<string> {
    return tail(this.programFiles(instanceId).log_file).split('\n').slice(-lines).join('\n');
  }

  private directory(instanceId: string): string {
    return join(this.folder, stemOf(instanceId));
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
