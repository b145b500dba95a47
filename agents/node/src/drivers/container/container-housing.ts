import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupOf, type Limits } from '../../platform/cgroup.js';
import { DetachedProcess } from '../../platform/detached-process.js';
import { fileLimitOf } from '../legacy/disk-use.js';
import { nameFileLimit } from '../legacy/file-limit.js';
import type { Housed, Housing, ProgramFolders, Signs } from '../legacy/housing.js';
import { type Entry, inNamespace, isInstalled } from '../legacy/namespace-commands.js';
import { NetworkNamespace } from '../legacy/network-namespace.js';
import type { Programs } from '../legacy/programs.js';
import { DriverError } from '../nf-driver.js';
import { stemOf, vethLinks } from '../veth-names.js';
import { type Common, holderConfig, PROGRAM_LIMITS, programConfig, programHolderConfig } from './container-config.js';
import { endedContainer, howItEnded } from './container-end.js';
import { type ContainerNames, containerNames } from './container-names.js';
import type { DockerHost } from './docker-host.js';
import { ownPid } from './docker-trial.js';
import { imageSigns } from './image-signs.js';
import { imageError, isUnrunnable } from './image-words.js';
import { isSeen, NF_FILES, PROGRAM_FILES, PROGRAM_PATH, type ProgramView } from './program-view.js';
import type { UserImages } from './user-images.js';

/** A program that ends so soon cannot be used as it is configured. */
const SETTLED_MS = 200;
/** In the folder of an instance: what its container sees. The rest is the agent's. */
const FILES_FOLDER = 'program';
const STARTER = 'Docker';

/**
 * Two containers: one holds the network namespace, the other runs the program. Their processes are watched from outside,
 * so that both are found, and heard, while Docker is down.
 */
export class ContainerHousing implements Housing {
  readonly kind = 'container';

  constructor(
    private readonly host: DockerHost,
    private readonly programs: Programs,
    private readonly images: UserImages,
    private readonly node: string,
    private readonly folder: string,
    /** Called with a container that no longer has an instance and could not be removed. */
    private readonly onLeft: (container: string, error: Error) => void,
  ) {}

  folders(instanceId: string, nfDirectory: string | null): ProgramFolders {
    const files = this.filesOf(instanceId);
    return { files, seen: PROGRAM_FILES, nf_dir: nfDirectory === null ? null : NF_FILES };
  }

  /** What it sees of the host is where the host has it. */
  has({ record }: Housed, program: string): boolean {
    if (this.programs.imageOf(record)) return true;
    return isSeen(program) && (program.startsWith(`${NF_FILES}/`) || isInstalled(program, PROGRAM_PATH));
  }

  held(instanceId: string): NetworkNamespace | null {
    const holder = DetachedProcess.adopt(this.processFiles(instanceId, 'holder'));
    return holder && NetworkNamespace.found(holder, vethLinks(instanceId));
  }

  async create(housed: Housed): Promise<NetworkNamespace> {
    const { instance_id } = housed.record;
    const { nf, holder } = this.namesOf(instance_id);
    await this.host.looked;
    const image = await this.host.provideImage();
    const { docker } = this.host;
    await docker.remove(nf);
    await docker.remove(holder);
    const of = { image, node: this.node, instance_id };
    const userImage = this.programs.imageOf(housed.record);
    const config = userImage ? holderConfig(of) : programHolderConfig(of, this.viewOf(housed));
    try {
      await docker.start(await docker.create(holder, config));
    } catch (error) {
      await docker.remove(holder).catch(() => undefined);
      throw userImage ? imageError(error, userImage, instance_id) : error;
    }
    const process = await this.processOf(instance_id, 'holder');
    if (!process) throw new DriverError('the holder of the network namespace ended at once', instance_id);
    return NetworkNamespace.heldBy(process, vethLinks(instance_id));
  }

  /** The setup runs in the holder: there is no other container yet. */
  entry({ program }: Housed, { pid }: Pick<NetworkNamespace, 'pid'>): Entry {
    const contained = { path: PROGRAM_PATH };
    return { pid, directory: PROGRAM_FILES, contained, group: groupOf(pid), file_bytes: fileLimitOf(program) };
  }

  besides(housed: Housed, _namespace: NetworkNamespace, program: DetachedProcess): Entry {
    return this.entry(housed, program);
  }

  running(instanceId: string): DetachedProcess | null {
    return DetachedProcess.adopt(this.processFiles(instanceId, 'nf'));
  }

  /** Images of users are there before anything is made; without one, no interfaces and no containers are. */
  async provide({ record }: Housed): Promise<void> {
    const image = this.programs.imageOf(record);
    await this.host.looked;
    if (image) await this.images.provide(record, image, this.namesOf(record.instance_id).nf);
  }

  progress(instanceId: string): string | null {
    return this.images.progress(instanceId);
  }

  abandon(instanceId: string): void {
    this.images.abandon(instanceId);
  }

  signs({ record }: Housed, { pid }: DetachedProcess): Signs | null {
    const image = this.programs.imageOf(record);
    return image ? imageSigns(this.host.docker, this.namesOf(record.instance_id).nf, pid, image.health) : null;
  }

  async spawn(housed: Housed, namespace: NetworkNamespace, command: readonly string[]): Promise<DetachedProcess> {
    const { instance_id, config, digest } = housed.record;
    const { nf, holder } = this.namesOf(instance_id);
    const image = this.programs.imageOf(housed.record);
    const of = { node: this.node, instance_id, cpu_limit: housed.record.cpu_limit };
    await this.host.docker.remove(nf);
    if (image) {
      await inNamespace(namespace.pid, 'ip', 'link', 'set', 'dev', 'lo', 'up');
      await this.images.start(nf, holder, { of, digest, image, config, files: this.filesOf(instance_id) });
    } else await this.startProgram({ ...of, image: await this.host.provideImage() }, housed, command);
    const process = await this.processOf(instance_id, 'nf');
    const ended = process ? await Promise.race([process.ended, sleep(SETTLED_MS, null)]) : 'it is gone';
    if (process && ended === null) return process;
    const told = `${command[0] ?? image?.reference} ended at once: ${await this.explain(instance_id)}`;
    if (image && isUnrunnable(told)) throw imageError(new Error(told), image, instance_id);
    throw new DriverError(nameFileLimit(told, fileLimitOf(housed.program)), instance_id);
  }

  private async startProgram(of: Common, housed: Housed, command: readonly string[]): Promise<void> {
    const { docker } = this.host;
    const { nf, holder } = this.namesOf(of.instance_id);
    const config = programConfig(of, holder, this.viewOf(housed), command, fileLimitOf(housed.program));
    await docker.start(await docker.create(nf, config));
  }

  async explain(instanceId: string): Promise<string> {
    const { docker } = this.host;
    const found = await endedContainer(docker, this.namesOf(instanceId).nf);
    return found ? howItEnded(docker, found) : 'the container ended; Docker does not say how';
  }

  /** What Docker cannot remove now is removed later. */
  async clear(instanceId: string): Promise<void> {
    this.images.forget(instanceId);
    const names = Object.values(this.namesOf(instanceId));
    await Promise.all(names.map((name) => this.host.docker.remove(name).catch((error) => this.onLeft(name, error))));
  }

  limits({ record }: Housed): Partial<Limits> {
    const limits = this.programs.imageOf(record)?.limits ?? PROGRAM_LIMITS;
    return { ...limits, cpus: Math.min(limits.cpus, record.cpu_limit ?? limits.cpus) };
  }

  async log(instanceId: string, lines: number): Promise<string> {
    const said = await this.host.docker.logs(this.namesOf(instanceId).nf, lines).catch(() => []);
    return said.join('\n');
  }

  private namesOf(instanceId: string): ContainerNames {
    return containerNames(this.node, instanceId);
  }

  private viewOf({ record: { instance_id, nf }, program: { packages } }: Housed): ProgramView {
    return { files: this.filesOf(instance_id), nf_directory: this.programs.directoryOf(nf), packages };
  }

  /** The first process of a container that has just been started; null: it has ended. */
  private async processOf(instanceId: string, which: keyof ContainerNames): Promise<DetachedProcess | null> {
    const { docker } = this.host;
    const name = this.namesOf(instanceId)[which];
    const found = await docker.inspect(name);
    if (!found?.running) return null;
    try {
      return DetachedProcess.watch(await ownPid(found), this.processFiles(instanceId, which), STARTER);
    } catch (error) {
      if (await endedContainer(docker, name)) return null;
      throw error;
    }
  }

  private filesOf(instanceId: string): string {
    return join(this.folder, stemOf(instanceId), FILES_FOLDER);
  }

  /** Docker has the logs; the pid files are for the next agent. */
  private processFiles(instanceId: string, which: keyof ContainerNames) {
    const stem = join(this.folder, stemOf(instanceId), which);
    return { pid_file: `${stem}.pid`, log_file: `${stem}.log` };
  }
}
