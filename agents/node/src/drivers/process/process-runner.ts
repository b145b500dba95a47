import { join } from 'node:path';
import { DetachedProcess } from '../../platform/detached-process.js';
import { writeDurably } from '../../platform/durable-file.js';
import type { End, InstanceRecord, Runner, RunningInstance } from '../hosted-instance.js';
import { type EngineEnds, unknownNf } from '../nf-driver.js';
import { ensureLinks, linksExist, removeLinks } from '../veth.js';
import { stemOf, vethLinks } from '../veth-names.js';
import { commandOf, type ProcessNf } from './registry.js';

const STOP_GRACE_MS = 2000;

export class ProcessInstance implements RunningInstance {
  readonly ends: EngineEnds;
  readonly ended: Promise<End>;

  constructor(
    instanceId: string,
    private readonly process: DetachedProcess,
  ) {
    const { near, far } = vethLinks(instanceId);
    this.ends = { near: near.engine, far: far.engine };
    this.ended = process.ended.then((how) => ({ how: `the process ended: ${how}` }));
  }

  get pid(): number {
    return this.process.pid;
  }

  stop(): Promise<void> {
    return this.process.stop(STOP_GRACE_MS);
  }

  release(): void {
    this.process.release();
  }
}

/** Runs an NF as a process in the agent's network namespace. */
export class ProcessRunner implements Runner<ProcessInstance> {
  constructor(
    private readonly registry: ReadonlyMap<string, ProcessNf>,
    private readonly folder: string,
  ) {}

  async adopt({ instance_id }: InstanceRecord): Promise<ProcessInstance | null> {
    const process = DetachedProcess.adopt(this.files(instance_id));
    return process && new ProcessInstance(instance_id, process);
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
    return new ProcessInstance(instance_id, process);
  }

  /** A process reads its configuration when it starts. */
  async configure(): Promise<boolean> {
    return false;
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
