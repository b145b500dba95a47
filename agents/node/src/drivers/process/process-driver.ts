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
  type EngineEnds,
  type HostedDriver,
  type HostedInstance,
  type InstanceRuntimeState,
} from '../nf-driver.js';
import { processLinks } from '../veth-names.js';
import { commandOf, type ProcessNf } from './registry.js';
import { ensureLinks, removeLinks } from './veth.js';

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
  since_ms: number;
  timer: NodeJS.Timeout | null;
  ends: EngineEnds | null;
}

const STOP_GRACE_MS = 2000;
/** A failure after this long says nothing about the next start. */
const STABLE_MS = 30_000;
const RESTART = { first_ms: 250, most_ms: 15_000 };

/** Runs NFs that are ordinary Linux processes between two interfaces ("legacy" in E2 3.6), and keeps them running. */
export class ProcessDriver implements HostedDriver {
  readonly kind = 'process';
  readonly nfs: readonly string[];
  private readonly runtimes = new Map<string, Runtime>();
  private readonly registry: ReadonlyMap<string, ProcessNf>;
  private readonly folder: string;
  private leaving = false;
  private tail: Promise<void> = Promise.resolve();

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
      const runtime = this.begin(record);
      const process = DetachedProcess.adopt(this.files(record.instance_id));
      if (process) this.attach(runtime, process);
      else await this.launch(runtime);
    }
  }

  observe(): ReadonlyMap<string, HostedInstance> {
    return new Map(
      [...this.runtimes].map(([id, { record, state, detail, ends }]) => [
        id,
        { digest: record.digest, state, detail, ends },
      ]),
    );
  }

  digest(instance: InstanceSpec): string {
    return processDigest(instance);
  }

  realize({ deploy, configure, destruct }: Change): Promise<void> {
    return this.inTurn(async () => {
      for (const instance of deploy) await this.deploy(instance);
      for (const instance of configure) await this.configure(instance);
      for (const id of destruct) await this.destruct(id);
    });
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
    await this.inTurn(async () => {
      if (!keep) await Promise.all([...this.runtimes.keys()].map((id) => this.destruct(id)));
    });
  }

  /** Changes and restarts go one after the other, so that none meets a half-made interface. */
  private inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => undefined);
    return result;
  }

  private async deploy(instance: InstanceSpec): Promise<void> {
    const { id, nf, config } = instance;
    if (this.runtimes.has(id)) return this.configure(instance);
    await this.launch(this.begin({ instance_id: id, nf, config, digest: processDigest(instance) }));
  }

  /** A process takes its configuration when it starts, so it starts again. */
  private async configure(instance: InstanceSpec): Promise<void> {
    const runtime = this.runtime(instance.id);
    await this.end(runtime);
    const { id, nf, config } = instance;
    runtime.record = { instance_id: id, nf, config, digest: processDigest(instance) };
    runtime.restarts = 0;
    await this.launch(runtime);
  }

  private begin(record: ProcessRecord): Runtime {
    const fresh = {
      process: null,
      state: 'starting' as const,
      detail: null,
      restarts: 0,
      since_ms: 0,
      timer: null,
      ends: null,
    };
    const runtime: Runtime = { record, ...fresh };
    this.runtimes.set(record.instance_id, runtime);
    return runtime;
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

  /** Never rejects: what cannot be started now is tried again later and reported meanwhile. */
  private async launch(runtime: Runtime): Promise<void> {
    try {
      this.attach(runtime, await this.startProcess(runtime.record));
    } catch (error) {
      this.onEnd(runtime, (error as Error).message);
    }
  }

  private async startProcess(record: ProcessRecord): Promise<DetachedProcess> {
    const { instance_id, nf, config } = record;
    const known = this.registry.get(nf);
    if (!known) throw new DriverError(`no process NF ${nf} here`);
    const directory = this.directory(instance_id);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    // The record first: from it an agent that comes after a crash finds and removes what was made.
    writeDurably(join(directory, 'record.json'), `${JSON.stringify(record)}\n`);
    const configFile = join(directory, 'config.json');
    writeDurably(configFile, `${JSON.stringify(config)}\n`);
    const links = processLinks(instance_id);
    await ensureLinks(links);
    const [command, ...args] = commandOf(known, links.near.process, links.far.process, configFile);
    return DetachedProcess.start({ command: command!, args, ...this.files(instance_id) });
  }

  private attach(runtime: Runtime, process: DetachedProcess): void {
    runtime.process = process;
    const { near, far } = processLinks(runtime.record.instance_id);
    runtime.ends = { near: near.engine, far: far.engine };
    runtime.state = 'running';
    runtime.detail = null;
    runtime.since_ms = Date.now();
    process.ended.then((how) => {
      if (runtime.process === process && !this.leaving) this.onEnd(runtime, `the process ended: ${how}`);
    });
    this.onChange();
  }

  private onEnd(runtime: Runtime, how: string): void {
    const { instance_id } = runtime.record;
    if (runtime.process && Date.now() - runtime.since_ms > STABLE_MS) runtime.restarts = 0;
    runtime.process = null;
    runtime.state = 'failed';
    runtime.detail = how;
    runtime.restarts++;
    const wait_ms = backoffMs(RESTART, runtime.restarts, Math.random());
    this.emit('error', 'instance.ended', instance_id, `${instance_id} does not run: ${how}`, { how });
    runtime.timer = setTimeout(() => {
      runtime.timer = null;
      void this.inTurn(async () => {
        const wanted = this.runtimes.get(instance_id) === runtime && runtime.process === null && !this.leaving;
        if (wanted) await this.launch(runtime);
      });
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
