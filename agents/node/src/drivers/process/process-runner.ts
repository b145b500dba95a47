import { join } from 'node:path';
import { DetachedProcess } from '../../platform/detached-process.js';
import { writeDurably } from '../../platform/durable-file.js';
import { Heartbeat, type HeartbeatTiming } from '../../platform/heartbeat.js';
import type { End, InstanceRecord, Runner, RunningInstance, SilenceListener } from '../hosted-instance.js';
import { type EngineEnds, unknownNf } from '../nf-driver.js';
import { ensureLinks, linksExist, removeLinks } from '../veth.js';
import { stemOf, vethLinks } from '../veth-names.js';
import { commandOf, type ProcessNf } from './registry.js';

const STOP_GRACE_MS = 2000;

export class ProcessInstance implements RunningInstance {
  readonly ends: EngineEnds;
  readonly ended: Promise<End>;
  private heartbeat: Heartbeat | null = null;
  /** Why it was killed. */
  private verdict: string | null = null;

  constructor(
    instanceId: string,
    private readonly process: DetachedProcess,
    private readonly timing: HeartbeatTiming,
  ) {
    const { near, far } = vethLinks(instanceId);
    this.ends = { near: near.engine, far: far.engine };
    this.ended = process.ended.then((how) => {
      this.heartbeat?.stop();
      return { how: this.verdict ?? `the process ended: ${how}` };
    });
  }

  get pid(): number {
    return this.process.pid;
  }

  /** An ordinary program answers nothing: it counts as silent while it is stopped by a signal. */
  watch(listener: SilenceListener): void {
    const { process, timing } = this;
    const beat = async () => {
      if (process.isStopped) throw new Error('stopped');
    };
    const dead = () => {
      this.verdict = `the process was stopped for ${timing.dead_ms / 1000} s and was killed`;
      process.kill();
    };
    this.heartbeat = new Heartbeat(beat, { ...listener, dead }, timing);
  }

  stop(): Promise<void> {
    this.heartbeat?.stop();
    return this.process.stop(STOP_GRACE_MS);
  }

  release(): void {
    this.heartbeat?.stop();
    this.process.release();
  }
}

/** Runs an NF as a process in the agent's network namespace. */
export class ProcessRunner implements Runner<ProcessInstance> {
  constructor(
    private readonly registry: ReadonlyMap<string, ProcessNf>,
    private readonly folder: string,
    private readonly heartbeat: HeartbeatTiming,
  ) {}

  async adopt({ instance_id }: InstanceRecord): Promise<ProcessInstance | null> {
    const process = DetachedProcess.adopt(this.files(instance_id));
    return process && new ProcessInstance(instance_id, process, this.heartbeat);
  }

  async start({ instance_id, nf, config }: InstanceRecord): Promise<ProcessInstance> {
    const known = this.registry.get(nf);
    if (!known) throw unknownNf('process', nf, [...this.registry.keys()]);
    const configFile = join(this.directory(instance_id), 'config.json');
    writeDurably(configFile, `${JSON.stringify(config)}\n`);
    const links = vethLinks(instance_id);
    await ensureLinks(links);
    const [command, ...args] = commandOf(known, links.near.nf, links.far.nf, configFile);
    const process = await DetachedProcess.start({ command: command!, args, ...this.files(instance_id) });
    return new ProcessInstance(instance_id, process, this.heartbeat);
  }

  /** A process reads its configuration when it starts. */
  async configure(): Promise<boolean> {
    return false;
  }

  interfaces(instanceId: string): readonly string[] {
    const { near, far } = vethLinks(instanceId);
    return [near.engine, near.nf, far.engine, far.nf];
  }

  relink(instanceId: string): Promise<void> {
    return ensureLinks(vethLinks(instanceId));
  }

  linked(instanceId: string): Promise<boolean> {
    return linksExist(vethLinks(instanceId));
  }

  async clear(instanceId: string): Promise<void> {
    await removeLinks(vethLinks(instanceId));
  }

  private directory(instanceId: string): string {
    return join(this.folder, stemOf(instanceId));
  }

  private files(instanceId: string) {
    const directory = this.directory(instanceId);
    return { pid_file: join(directory, 'nf.pid'), log_file: join(directory, 'nf.log') };
  }
}
