import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Id, type InstanceSpec, Name } from '@orrery/contract';
import { z } from 'zod';
import type { Emit } from '../../link/agent-event.js';
import { backoffMs } from '../../platform/backoff.js';
import { DetachedProcess } from '../../platform/detached-process.js';
import { readJsonFile, writeDurably } from '../../platform/durable-file.js';
import { log } from '../../platform/log.js';
import { processDigest } from '../instance-digest.js';
import {
  type Change,
  DriverError,
  type InstanceRuntimeState,
  type NfDriver,
  type RuntimeInstance,
} from '../nf-driver.js';
import { commandOf, type ProcessNf } from './registry.js';
import { ensureLinks, removeLinks } from './veth.js';
import { processLinks } from './veth-names.js';

/** What the next agent must know of a process that it finds. */
const StoredProcess = z.strictObject({
  instance_id: Id,
  nf: Name,
  config: z.record(z.string(), z.unknown()),
  digest: z.string(),
});
type ProcessRecord = z.infer<typeof StoredProcess>;

interface Runtime {
  record: ProcessRecord;
  process: DetachedProcess | null;
  state: InstanceRuntimeState;
  detail: string | null;
  restarts: number;
  timer: NodeJS.Timeout | null;
}

const STOP_GRACE_MS = 2000;
const RESTART = { first_ms: 250, most_ms: 15_000 };

/** Runs NFs that are ordinary Linux processes between two interfaces ("legacy" in E2 3.6), and keeps them running. */
export class ProcessDriver implements NfDriver {
  readonly kind = 'process';
  readonly nfs: readonly string[];
  private readonly runtimes = new Map<string, Runtime>();
  private readonly registry: ReadonlyMap<string, ProcessNf>;
  private readonly folder: string;
  private leaving = false;

  constructor(
    nfs: readonly ProcessNf[],
    run_dir: string,
    private readonly emit: Emit,
    private readonly onChange: () => void,
  ) {
    this.registry = new Map(nfs.map((nf) => [nf.nf, nf]));
    this.nfs = [...this.registry.keys()];
    this.folder = join(run_dir, 'nf');
  }

  /** Takes over the processes of an earlier agent and starts again those that ended meanwhile. */
  async adopt(): Promise<void> {
    for (const stem of listFolders(this.folder)) {
      const record = readJsonFile(join(this.folder, stem, 'record.json'), StoredProcess, (why) => log('warning', why));
      if (!record) continue;
      const runtime: Runtime = { record, process: null, state: 'starting', detail: null, restarts: 0, timer: null };
      this.runtimes.set(record.instance_id, runtime);
      const process = DetachedProcess.adopt(this.files(record.instance_id));
      if (process) this.attach(runtime, process);
      else await this.launch(runtime).catch((error) => this.onEnd(runtime, (error as Error).message));
    }
  }

  observe(): ReadonlyMap<string, RuntimeInstance> {
    return new Map(
      [...this.runtimes].map(([id, { record, state, detail }]) => [id, { digest: record.digest, state, detail }]),
    );
  }

  async realize({ deploy, configure, destruct }: Change): Promise<void> {
    for (const instance of deploy) await this.deploy(instance);
    for (const instance of configure) await this.configure(instance);
    for (const id of destruct) await this.destruct(id);
  }

  async getInstanceState(instanceId: string): Promise<Record<string, unknown>> {
    const { record, process, state, restarts } = this.runtime(instanceId);
    return { nf: record.nf, config: record.config, state, restarts, pid: process?.pid ?? null };
  }

  async exportState(instanceId: string): Promise<Record<string, unknown>> {
    throw new DriverError(`${instanceId}: a process keeps its flow state to itself`, instanceId, true);
  }

  async importState(instanceId: string): Promise<void> {
    throw new DriverError(`${instanceId}: a process takes no flow state`, instanceId, true);
  }

  /** Leaves the processes as they are for the next agent, or ends them and takes their interfaces away. */
  async close(keep: boolean): Promise<void> {
    this.leaving = true;
    for (const { timer, process } of this.runtimes.values()) {
      if (timer) clearTimeout(timer);
      if (keep) process?.release();
    }
    if (!keep) await Promise.all([...this.runtimes.keys()].map((id) => this.destruct(id)));
  }

  private async deploy(instance: InstanceSpec): Promise<void> {
    const { id, nf, config } = instance;
    if (this.runtimes.has(id)) return this.configure(instance);
    await ensureLinks(processLinks(id));
    const record = { instance_id: id, nf, config, digest: processDigest(instance) };
    const runtime: Runtime = { record, process: null, state: 'starting', detail: null, restarts: 0, timer: null };
    await this.launch(runtime);
    this.runtimes.set(id, runtime);
  }

  private async configure(instance: InstanceSpec): Promise<void> {
    const runtime = this.runtime(instance.id);
    await this.end(runtime);
    const { id, nf, config } = instance;
    runtime.record = { instance_id: id, nf, config, digest: processDigest(instance) };
    runtime.restarts = 0;
    await this.launch(runtime);
  }

  private async destruct(id: string): Promise<void> {
    const runtime = this.runtimes.get(id);
    if (!runtime) return;
    runtime.state = 'stopping';
    await this.end(runtime);
    await removeLinks(processLinks(id));
    rmSync(this.directory(id), { recursive: true, force: true });
    this.runtimes.delete(id);
    this.onChange();
  }

  private async end(runtime: Runtime): Promise<void> {
    if (runtime.timer) clearTimeout(runtime.timer);
    runtime.timer = null;
    const { process } = runtime;
    runtime.process = null;
    await process?.stop(STOP_GRACE_MS);
  }

  private async launch(runtime: Runtime): Promise<void> {
    const { instance_id, nf, config } = runtime.record;
    const known = this.registry.get(nf);
    if (!known) throw new DriverError(`no process NF ${nf} here`, instance_id, true);
    const directory = this.directory(instance_id);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const configFile = join(directory, 'config.json');
    writeDurably(configFile, `${JSON.stringify(config)}\n`);
    writeDurably(join(directory, 'record.json'), `${JSON.stringify(runtime.record)}\n`);
    const { near, far } = processLinks(instance_id);
    const [command, ...args] = commandOf(known, near.process, far.process, configFile);
    try {
      this.attach(runtime, await DetachedProcess.start({ command: command!, args, ...this.files(instance_id) }));
    } catch (error) {
      throw new DriverError((error as Error).message, instance_id);
    }
  }

  private attach(runtime: Runtime, process: DetachedProcess): void {
    runtime.process = process;
    runtime.state = 'running';
    runtime.detail = null;
    process.ended.then((how) => {
      if (runtime.process === process && !this.leaving) this.onEnd(runtime, how);
    });
    this.onChange();
  }

  private onEnd(runtime: Runtime, how: string): void {
    const { instance_id } = runtime.record;
    runtime.process = null;
    runtime.state = 'failed';
    runtime.detail = `the process ended: ${how}`;
    runtime.restarts++;
    const wait_ms = backoffMs(RESTART, runtime.restarts, Math.random());
    this.emit('error', 'instance.ended', instance_id, `${instance_id}: ${runtime.detail}; starts again`, { how });
    runtime.timer = setTimeout(() => {
      runtime.timer = null;
      this.launch(runtime).catch((error) => this.onEnd(runtime, (error as Error).message));
    }, wait_ms).unref();
    this.onChange();
  }

  private runtime(id: string): Runtime {
    const runtime = this.runtimes.get(id);
    if (!runtime) throw new DriverError(`no process for ${id}`, id);
    return runtime;
  }

  private directory(id: string): string {
    return join(this.folder, processLinks(id).near.engine.slice(0, -2));
  }

  private files(id: string) {
    return { pid_file: join(this.directory(id), 'nf.pid'), log_file: join(this.directory(id), 'nf.log') };
  }
}

function listFolders(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
