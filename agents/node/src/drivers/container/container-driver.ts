import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AgentCapabilities,
  type FlowImport,
  type InstanceLog,
  type InstanceSpec,
  type LogRequest,
  MAX_IMAGES,
  type ShellSize,
} from '@orrery/contract';
import type { Emit } from '../../link/agent-event.js';
import { HEARTBEAT, type HeartbeatTiming } from '../../platform/heartbeat.js';
import { log } from '../../platform/log.js';
import { recordOf } from '../hosted-instance.js';
import { HostedInstances } from '../hosted-instances.js';
import { containerDigest } from '../instance-digest.js';
import type { ProgramInstance } from '../legacy/program-instance.js';
import { ProgramRunner } from '../legacy/program-runner.js';
import { ProgramUsage } from '../legacy/program-usage.js';
import type { Programs } from '../legacy/programs.js';
import {
  type Change,
  DriverError,
  type ElementDriver,
  type FlowDriver,
  type HostedDriver,
  type HostedFigure,
} from '../nf-driver.js';
import type { ShellTerminal } from '../shell-terminal.js';
import { INSTANCE_LABEL, NF_LIMITS } from './container-config.js';
import { ContainerHousing } from './container-housing.js';
import type { ContainerInstance } from './container-instance.js';
import { logOf } from './container-log.js';
import { containerNames } from './container-names.js';
import { ContainerRunner } from './container-runner.js';
import { type Contained, ContainerRunners, isNf } from './container-runners.js';
import { openContainerShell } from './container-shell.js';
import { type ContainerDeath, DockerClient } from './docker-client.js';
import { DockerHost, type ProbeTiming } from './docker-host.js';
import type { ImageArchives } from './image-archives.js';
import { ImageStore } from './image-store.js';
import { NFS_FOLDER } from './nf-folder.js';
import { NfImage } from './nf-image.js';
import { RegistryLogins } from './registry-logins.js';
import { UserImages } from './user-images.js';

interface ContainerOptions {
  node: string;
  run_dir: string;
  /** Docker's socket. */
  docker: string;
  /** Tar file of the image's root file system. */
  nf_image: string;
  /** Legacy NFs that containers may run. */
  programs: Programs;
  /** Images that can be loaded where Docker does not have them. */
  archives?: ImageArchives;
  /** Configuration of a Docker client with passwords of registries; null: none. */
  docker_config?: string | null;
  /** Whether administrators of the console may have a shell in containers of programs and images. */
  nf_shell?: boolean;
  /** How long Docker may be unreachable before containers are no longer offered. */
  absence_ms?: number;
  probe?: ProbeTiming;
  /** Interval between attempts to remove or list what Docker refused to. */
  sweep_pause_ms?: number;
  heartbeat?: HeartbeatTiming;
}

type Instance = HostedInstances<Contained>['all'][number];

/** How long the sampler waits for a slow NF. */
const READ_LIMIT_MS = 100;
/** Docker takes longer names than the server does. */
const IMAGE_NAME_CHARS = 300;
const SWEEP_PAUSE_MS = 30_000;
const DETAIL_LIMIT_CHARS = 1000;
/** Source of CPU time and memory. */
const MEASURED_BY = 'Docker Engine API (control groups)';

/** If Docker goes away during a request, the request is repeated on its return. */
const ignore = () => undefined;

/**
 * Runs NFs of the engine and unmodified programs in containers, and keeps them running. They keep running while Docker or
 * the agent is down.
 */
export class ContainerDriver implements HostedDriver {
  readonly kind = 'container';
  private readonly docker: DockerClient;
  private readonly host: DockerHost;
  private readonly runner: ContainerRunner;
  private readonly programs: ProgramRunner;
  private readonly usage: ProgramUsage;
  readonly instances: HostedInstances<Contained>;
  /** Containers without an instance that Docker did not remove. */
  private readonly left = new Set<string>();
  private sweepTimer: NodeJS.Timeout | null = null;
  private closed = false;

  constructor(
    private readonly options: ContainerOptions,
    private readonly emit: Emit,
    private readonly onChange: () => void,
  ) {
    const { node, run_dir, docker, nf_image, programs, archives, absence_ms, probe, heartbeat = HEARTBEAT } = options;
    this.docker = new DockerClient(docker);
    this.usage = new ProgramUsage(this.docker);
    const listener = {
      up: () => this.up(),
      lost: (why: string) => this.lost(why),
      absent: (why: string) => this.absent(why),
      images: () => this.imagesChanged(),
      death: (death: ContainerDeath) => this.onDeath(death),
    };
    this.host = new DockerHost(this.docker, new NfImage(nf_image), node, listener, absence_ms, probe);
    const folder = join(run_dir, NFS_FOLDER);
    const onLeft = (name: string, error: Error) => this.onLeft(name, error);
    this.runner = new ContainerRunner(this.host, node, folder, heartbeat, onLeft);
    const store = new ImageStore(this.docker, node, archives, new RegistryLogins(options.docker_config ?? null));
    const images = new UserImages(store, this.docker, () => this.onChange());
    const housing = new ContainerHousing(this.host, programs, images, node, folder, onLeft);
    this.programs = new ProgramRunner(programs, housing, heartbeat);
    const runners = new ContainerRunners(this.runner, this.programs, programs);
    this.instances = new HostedInstances<Contained>(runners, folder, emit, onChange);
  }

  get nfs(): readonly string[] {
    return this.host.nfs;
  }

  /** Resolves when Docker has been looked for once. */
  get looked(): Promise<void> {
    return this.host.looked;
  }

  /** Whether containers can be started, with the Docker version or why not. */
  get offer(): NonNullable<AgentCapabilities['containers']> {
    const { available, detail } = this.host;
    const known = new Set([...(this.options.archives?.references ?? []), ...this.host.images]);
    const images = [...known].filter((name) => name.length <= IMAGE_NAME_CHARS).slice(0, MAX_IMAGES);
    const shell = this.options.nf_shell ?? false;
    return { available, detail: detail.slice(0, DETAIL_LIMIT_CHARS), programs: true, shell, images };
  }

  /**
   * Adopts the running containers of an earlier agent, which needs no Docker, then connects to Docker without waiting
   * for it: it then restarts those that ended in the meantime and removes those without an instance.
   */
  async start(): Promise<void> {
    await this.instances.adopt();
    void this.host.connect();
  }

  digest(instance: InstanceSpec): string {
    return containerDigest(instance);
  }

  async realize(change: Change): Promise<void> {
    this.instances.realize(change, (instance) => recordOf(instance, containerDigest(instance)));
  }

  async getInstanceState(instanceId: string, limit: number): Promise<Record<string, unknown>> {
    const { record, restarts } = this.instances.get(instanceId);
    if (this.options.programs.of(record)) return this.programState(instanceId);
    const { control, container: id, cpu_share } = this.running(instanceId);
    const memory_bytes = await this.memoryOf(id);
    return {
      ...(await control.getState(limit)),
      container: { id, restarts, cpu_share, memory_bytes },
      limits: { ...NF_LIMITS, cpus: record.cpu_limit ?? NF_LIMITS.cpus },
    };
  }

  /** Of the container that runs, or of the last one. */
  async readLog(instanceId: string, wanted: LogRequest): Promise<InstanceLog> {
    const { observed } = this.instances.get(instanceId);
    const { nf } = containerNames(this.options.node, instanceId);
    const lines = await this.docker.timedLogs(nf, wanted.lines + 1, wanted.after);
    if (lines === null) throw new DriverError(`${instanceId} has no container: ${observed.detail ?? observed.state}`);
    return logOf(lines, wanted);
  }

  /** With the rights that the container has, and no more. */
  async openShell(instanceId: string, size: ShellSize): Promise<ShellTerminal> {
    const { docker, node, nf_shell = false, programs } = this.options;
    const { running, observed, record } = this.instances.get(instanceId);
    if (!nf_shell) throw new DriverError(`the agent of ${node} allows no shells (orrery-agent --nf-shell on)`);
    if (!programs.of(record)) throw new DriverError(`${instanceId} is an NF of the engine: its container has no shell`);
    if (!running || isNf(running) || running.programPid === null)
      throw new DriverError(`${instanceId} does not run: ${observed.detail ?? observed.state}`);
    return openContainerShell(docker, containerNames(node, instanceId).nf, instanceId, size);
  }

  exportState(instanceId: string): Promise<Record<string, unknown>> {
    return this.running(instanceId).control.exportState();
  }

  async importState(instanceId: string, state: Record<string, unknown>, renew = false): Promise<FlowImport | null> {
    return this.running(instanceId).control.importState(state, renew);
  }

  readonly flows: FlowDriver = {
    export: async (instanceId, wanted) => this.running(instanceId).control.exportFlows(wanted),
    release: async (instanceId, wanted) => this.running(instanceId).control.releaseFlows(wanted),
  };

  readonly elements: ElementDriver = {
    switched: (instanceId) => {
      const running = this.instances.has(instanceId) ? this.instances.get(instanceId).running : null;
      return running && isNf(running) ? running.switched : null;
    },
    switchTo: ({ id }, accelerated) => {
      const instance = this.instances.get(id);
      return instance.inTurn(() => this.runner.switchTo(this.running(id), instance.record, accelerated));
    },
  };

  /** Reads the figures of all that respond in time; late ones go into the next reading. */
  async refresh(): Promise<void> {
    // The loss of a container is detected separately.
    const nfs = this.instances.all.map(({ running }) => running && isNf(running) && running.sample());
    const read = Promise.allSettled([...nfs, this.usage.refresh(this.runningPrograms())]);
    await Promise.race([read, sleep(READ_LIMIT_MS, undefined, { ref: false })]);
  }

  /** Last figures read of an instance. */
  figures(instanceId: string): HostedFigure | null {
    if (!this.instances.has(instanceId)) return null;
    const { running } = this.instances.get(instanceId);
    if (running && !isNf(running)) return { drops: {}, cpu_share: this.shareOf(instanceId, running) };
    const { drops } = this.runner.totalOf(instanceId);
    return { drops, cpu_share: running?.cpu_share ?? null };
  }

  /** Leaves the containers unchanged for the next agent, or removes them with their interfaces. */
  async close(keep: boolean): Promise<void> {
    this.closed = true;
    if (this.sweepTimer) clearTimeout(this.sweepTimer);
    await this.instances.close(keep);
    this.host.stop();
  }

  /** An NF of the engine, which answers on its control socket. */
  private running(instanceId: string): ContainerInstance {
    const { running, observed } = this.instances.get(instanceId);
    if (!running) throw new DriverError(`${instanceId} does not run: ${observed.detail}`, instanceId);
    if (isNf(running)) return running;
    throw new DriverError(`${instanceId}: the flow state of an unmodified program cannot be moved`, instanceId, true);
  }

  private async programState(instanceId: string): Promise<Record<string, unknown>> {
    const instance = this.instances.get(instanceId);
    const { restarts, running } = instance;
    const { nf } = containerNames(this.options.node, instanceId);
    const image = this.options.programs.imageOf(instance.record);
    const found = await this.docker.inspect(nf).catch(() => null);
    const cpu_share = this.figures(instanceId)?.cpu_share ?? null;
    const container = {
      ...{ id: found?.id ?? null, restarts, ends: instance.ends_counted },
      ...{ cpu_share, memory_bytes: await this.memoryOf(nf), measured_by: MEASURED_BY },
      ...(image ? { image: image.reference, image_id: found?.image ?? null, health: found?.health ?? null } : {}),
    };
    return { ...(await this.programs.stateOf(instance, running && !isNf(running) ? running : null)), container };
  }

  /** Containers of programs that run. */
  private runningPrograms(): string[] {
    return this.instances.all.flatMap(({ running, record: { instance_id } }) =>
      running && !isNf(running) && running.programPid !== null
        ? [containerNames(this.options.node, instance_id).nf]
        : [],
    );
  }

  private shareOf(instanceId: string, { programPid }: ProgramInstance): number | null {
    return programPid === null ? null : this.usage.shareOf(containerNames(this.options.node, instanceId).nf);
  }

  private async memoryOf(container: string | null): Promise<number | null> {
    const usage = container === null ? null : await this.docker.usage(container).catch(() => null);
    return usage?.memory_bytes ?? null;
  }

  private up(): void {
    for (const instance of this.instances.all)
      this.check(instance)
        .then(() => instance.retry())
        .catch(ignore);
    void this.sweep();
    this.onChange();
  }

  /** What was missing may have been built or loaded. */
  private imagesChanged(): void {
    for (const instance of this.instances.all)
      if (this.options.programs.imageOf(instance.record)) void instance.retry();
    this.onChange();
  }

  private lost(why: string): void {
    this.emit('docker.lost', this.options.node, `${why}; containers run on, but none can be started`, {});
    this.onChange();
  }

  private absent(why: string): void {
    log('warning', `no containers: ${why}`);
    this.onChange();
  }

  /** Removes the containers of this node without a known instance. */
  private async sweep(): Promise<void> {
    const all = await this.docker.list(this.host.label).catch(() => null);
    if (this.closed) return;
    if (all === null) return this.sweepLater();
    for (const name of this.left) if (!all.some((one) => one.name === name)) this.left.delete(name);
    for (const { id, name, labels } of all) {
      if (this.instances.has(labels[INSTANCE_LABEL] ?? '')) continue;
      log('warning', `container ${name} of ${labels[INSTANCE_LABEL]} belongs to no instance and is removed`);
      await this.docker.remove(id).catch((error) => this.onLeft(name, error));
    }
  }

  private onLeft(name: string, error: Error): void {
    if (!this.left.has(name)) {
      this.left.add(name);
      this.emit('container.left', this.options.node, `Container ${name} is not removed yet: ${error.message}`, {});
    }
    this.sweepLater();
  }

  private sweepLater(): void {
    if (this.closed) return;
    this.sweepTimer ??= setTimeout(() => {
      this.sweepTimer = null;
      void this.sweep();
    }, this.options.sweep_pause_ms ?? SWEEP_PAUSE_MS).unref();
  }

  private onDeath({ labels }: ContainerDeath): void {
    const id = labels[INSTANCE_LABEL] ?? '';
    if (this.instances.has(id)) this.check(this.instances.get(id)).catch(ignore);
  }

  /** The processes of programs are watched, whatever Docker tells of them. */
  private check(instance: Instance): Promise<void> {
    return instance.inTurn(async () => {
      const { running, record } = instance;
      if (!running || !isNf(running)) return;
      const { held } = running;
      await this.runner.verify(record.instance_id, running);
      if (held && !running.held) this.tellUnheld(record.instance_id);
    });
  }

  private tellUnheld(id: string): void {
    const what =
      'the holder of its network namespace ended; the NF keeps running, and both are recreated when it exits';
    this.emit('instance.holder-ended', id, `${id}: ${what}`, {});
  }
}
