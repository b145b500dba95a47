import { join } from 'node:path';
import type { InstanceSpec } from '@orrery/contract';
import type { Emit } from '../../link/agent-event.js';
import { log } from '../../platform/log.js';
import { recordOf } from '../hosted-instance.js';
import { HostedInstances } from '../hosted-instances.js';
import { containerDigest } from '../instance-digest.js';
import { type Change, DriverError, type HostedDriver, type HostedInstance } from '../nf-driver.js';
import { BOX_FOLDER } from './box-folder.js';
import { BoxImage } from './box-image.js';
import type { ContainerBody, Figures } from './container-body.js';
import { INSTANCE_LABEL, NODE_LABEL } from './container-config.js';
import { ContainerRunner } from './container-runner.js';
import { type ContainerDeath, DockerClient } from './docker-client.js';
import { DockerHost } from './docker-host.js';

export interface ContainerOptions {
  node: string;
  run_dir: string;
  /** Docker's socket. */
  docker: string;
  /** Tar file of the image's root. */
  nf_box: string;
}

type Instance = HostedInstances<ContainerBody>['all'][number];

const SAMPLE_PERIOD_MS = 1000;
const NO_FIGURES: Figures = { drops: {}, cpu_share: 0 };

/** Runs NFs of the engine alone in containers, and keeps them running. They run on while Docker or the agent is away. */
export class ContainerDriver implements HostedDriver {
  readonly kind = 'container';
  private readonly docker: DockerClient;
  private readonly image: BoxImage;
  private readonly host: DockerHost;
  private readonly runner: ContainerRunner;
  private readonly instances: HostedInstances<ContainerBody>;
  private readonly nodeLabel: string;
  private has: readonly string[] = [];
  private adopted = false;
  private samples = false;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly options: ContainerOptions,
    private readonly emit: Emit,
    private readonly onChange: () => void,
  ) {
    const { node, run_dir, docker, nf_box } = options;
    this.docker = new DockerClient(docker);
    this.image = new BoxImage(nf_box);
    this.nodeLabel = `${NODE_LABEL}=${node}`;
    this.host = new DockerHost(this.docker, this.image, this.nodeLabel, {
      up: () => this.up(),
      down: (why) => this.down(why),
      death: (death) => this.onDeath(death),
    });
    const folder = join(run_dir, BOX_FOLDER);
    this.runner = new ContainerRunner(this.host, node, folder);
    this.instances = new HostedInstances(this.runner, folder, emit, onChange);
    this.timer = setInterval(() => void this.sample(), SAMPLE_PERIOD_MS).unref();
  }

  get nfs(): readonly string[] {
    return this.has;
  }

  /** Whether containers can be started now. */
  get available(): boolean {
    return this.host.available && this.has.length > 0;
  }

  /** Takes over the containers of an earlier agent, starts again those that ended meanwhile and removes the rest. */
  async start(): Promise<void> {
    this.has = await this.image.nfs();
    await this.host.start();
    await this.instances.adopt();
    this.adopted = true;
    if (this.host.available) await this.takeStock().catch((error) => log('warning', `containers: ${error.message}`));
  }

  observe(): ReadonlyMap<string, HostedInstance> {
    return this.instances.observe();
  }

  digest(instance: InstanceSpec): string {
    return containerDigest(instance);
  }

  realize(change: Change): Promise<void> {
    return this.instances.realize(change, (instance) => recordOf(instance, containerDigest(instance)));
  }

  async getInstanceState(instanceId: string, limit: number): Promise<Record<string, unknown>> {
    const { restarts } = this.instances.get(instanceId);
    const { control, container: id, figures } = this.running(instanceId);
    const usage = id === null ? null : await this.docker.usage(id).catch(() => null);
    const { cpu_share } = figures;
    return {
      ...(await control.getState(limit)),
      container: { id, restarts, cpu_share, memory_bytes: usage?.memory_bytes ?? null },
    };
  }

  exportState(instanceId: string): Promise<Record<string, unknown>> {
    return this.running(instanceId).control.exportState();
  }

  importState(instanceId: string, state: Record<string, unknown>): Promise<void> {
    return this.running(instanceId).control.importState(state);
  }

  /** Figures of an instance as they were read last; none of one that runs elsewhere. */
  figures(instanceId: string): Figures {
    return (this.instances.has(instanceId) && this.instances.get(instanceId).body?.figures) || NO_FIGURES;
  }

  /** Leaves the containers as they are for the next agent, or removes them with their interfaces. */
  async close(keep: boolean): Promise<void> {
    clearInterval(this.timer);
    await this.instances.close(keep);
    this.host.stop();
  }

  private running(instanceId: string): ContainerBody {
    const { body, observed } = this.instances.get(instanceId);
    if (!body) throw new DriverError(`${instanceId} does not run: ${observed.detail}`, instanceId);
    return body;
  }

  private async up(): Promise<void> {
    if (this.adopted) await this.takeStock();
    this.onChange();
  }

  private down(why: string): void {
    this.emit('warning', 'docker.lost', this.options.node, `${why}; containers run on, but none can be started`);
    this.onChange();
  }

  /** What became of containers while nobody told, and those that no instance is known of. */
  private async takeStock(): Promise<void> {
    await Promise.all(this.instances.all.map((instance) => this.check(instance).then(() => instance.retry())));
    for (const { id, labels } of await this.docker.list(this.nodeLabel)) {
      if (this.instances.has(labels[INSTANCE_LABEL] ?? '')) continue;
      log('warning', `container ${id} of ${labels[INSTANCE_LABEL]} is of no instance and is removed`);
      await this.docker.remove(id);
    }
  }

  private onDeath({ labels }: ContainerDeath): void {
    const id = labels[INSTANCE_LABEL] ?? '';
    // When Docker goes while it is asked, it is asked again on its return.
    if (this.instances.has(id)) this.check(this.instances.get(id)).catch(() => undefined);
  }

  private check(instance: Instance): Promise<void> {
    return instance.inTurn(async () => {
      const { body, record } = instance;
      if (!body) return;
      const { held } = body;
      await this.runner.verify(record.instance_id, body);
      if (held && !body.held) this.tellUnheld(record.instance_id);
    });
  }

  private tellUnheld(id: string): void {
    const what = 'the holder of its network namespace ended; it runs on and gets both anew when it ends itself';
    this.emit('warning', 'instance.holder-ended', id, `${id}: ${what}`);
  }

  private async sample(): Promise<void> {
    if (this.samples) return;
    this.samples = true;
    // The loss of a box is heard by itself.
    await Promise.allSettled(this.instances.all.map(({ body }) => body?.sample()));
    this.samples = false;
  }
}
