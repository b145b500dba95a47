import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineAbility, EngineDescription, EngineStats, FlowImport, Origin } from '@orrery/contract';
import type { Emit } from '../../link/agent-event.js';
import { backoffMs } from '../../platform/backoff.js';
import { DetachedProcess } from '../../platform/detached-process.js';
import { writeDurably } from '../../platform/durable-file.js';
import { HEARTBEAT, Heartbeat } from '../../platform/heartbeat.js';
import { monotonicMs } from '../../platform/monotonic.js';
import { identify } from '../../platform/process-identity.js';
import { Refusal } from '../control-client.js';
import { HeartbeatSocket } from '../heartbeat-socket.js';
import { type Change, type Drift, DriverError, type FlowDriver, type NfDriver, type Wiring } from '../nf-driver.js';
import { changedRanges } from './changed-ranges.js';
import { EngineClient } from './engine-client.js';
import { abilitiesOf, nfsOf } from './engine-program.js';
import { COMPILED_ABILITIES } from './engine-traits.js';
import { explainRefusal } from './explain-refusal.js';
import { bytestreamOf } from './names.js';
import { PortWatch } from './port-watch.js';
import { SplitHolds } from './split-holds.js';
import { SwitchedNfs } from './switched-nfs.js';

export interface EngineOptions {
  /** Path of the engine's executable. */
  path: string;
  run_dir: string;
  memory: 'auto' | 'no-huge' | 'hugepages';
  workers: number;
  node: string;
  /** Where a process id of the engine counts. */
  origin: Origin;
}

/** `unresponsive`: its process is there but gives no sign of life. */
export type EngineStatus = 'stopped' | 'starting' | 'running' | 'unresponsive' | 'failed';

export interface EngineView {
  status: EngineStatus;
  pid: number | null;
  workers: number;
  /** Of the clock that the engine counts cycles by. */
  cycles_per_second: number;
  /** NFs of the engine; null: not asked yet, or it cannot be run. */
  nfs: readonly string[] | null;
  /** What it declares that it can run beside NFs. */
  declared: readonly EngineAbility[];
  /** Digest of the graph that it runs, if this agent applied it. */
  applied: string | null;
  /** Digest of each instance's spec in that graph. */
  instances: ReadonlyMap<string, string>;
  start_not_before_ms: number;
  error: string | null;
}

const START_LIMIT_MS = 20_000;
const ADOPT_LIMIT_MS = 3000;
const STOP_GRACE_MS = 3000;
/** A run of at least this length resets the restart delay. */
const STABLE_MS = 30_000;
/** Of an engine that was not asked yet: it runs nothing that depends on it. */
const UNKNOWN_HZ = 1e9;
const RESTART = { first_ms: 250, most_ms: 15_000 };

/**
 * Starts, adopts, supervises and configures the data-plane engine: one process that runs every software NF of the node.
 */
export class EngineDriver implements NfDriver {
  readonly kind = 'engine';
  private status: EngineStatus = 'stopped';
  private process: DetachedProcess | null = null;
  private client: EngineClient | null = null;
  private applied: Wiring | null = null;
  /** By which the engine names the graph that was applied. */
  private appliedDigest = '';
  private heartbeat: { stop(): void } | null = null;
  /** Why it was killed, for the report of its end. */
  private verdict: string | null = null;
  private readonly differences: Drift[] = [];
  private crashes = 0;
  private startNotBefore = 0;
  private error: string | null = null;
  private leaving = false;
  private starting: Promise<void> | null = null;
  private readonly ports: PortWatch;
  private has: readonly string[] | null = null;
  private declared: readonly EngineAbility[] = [];
  private known: EngineDescription | null = null;
  private first: EngineStats | null = null;

  constructor(
    private readonly options: EngineOptions,
    private readonly emit: Emit,
    private readonly onChange: () => void,
    private readonly heartbeatTiming = HEARTBEAT,
  ) {
    this.ports = new PortWatch(options.node, emit, () => {
      const { applied, client } = this;
      // Never queued behind a new graph. While the interface is missing this fails; a later reading retries.
      if (applied && client && !client.busy) client.apply(this.elements.in(applied.graph)).catch(() => undefined);
    });
  }

  get view(): EngineView {
    return {
      status: this.status,
      pid: this.process?.pid ?? null,
      workers: this.known?.workers ?? 1,
      cycles_per_second: this.first?.cycles_per_second ?? UNKNOWN_HZ,
      nfs: this.has,
      declared: this.declared,
      applied: this.applied?.digest ?? null,
      instances: this.applied?.instances ?? new Map(),
      start_not_before_ms: this.startNotBefore,
      error: this.error,
    };
  }

  get nfs(): readonly string[] {
    return this.has ?? [];
  }

  get description(): EngineDescription | null {
    return this.known;
  }

  /** What runs and where its figures are; null until a graph has been applied. */
  get wiring(): Wiring | null {
    return this.applied;
  }

  /** Counters when this agent connected to the engine: the first interval starts there. */
  get baseline(): EngineStats | null {
    return this.first;
  }

  /** What can run here beside NFs: what the engine declares and this agent can build. */
  get abilities(): readonly EngineAbility[] {
    return this.declared.filter((ability) => COMPILED_ABILITIES.has(ability));
  }

  /**
   * Asks the program which NFs it has and what it can run beside them; a program that cannot be run has none, and the
   * start reports why.
   */
  async learn(): Promise<void> {
    [this.has, this.declared] = await Promise.all([nfsOf(this.options.path), abilitiesOf(this.options.path)]);
  }

  /** Adopts the engine of an earlier agent if there is one; returns true if so. Never starts one. */
  async adopt(): Promise<boolean> {
    const process = DetachedProcess.adopt(this.files) ?? (await this.findBySocket());
    if (!process) return false;
    this.attach(process);
    try {
      await this.connect(process, ADOPT_LIMIT_MS);
    } catch (error) {
      this.emit(
        'engine.unresponsive',
        this.options.node,
        `Engine (${this.named(process.pid)}) does not answer and is killed`,
        {
          pid: process.pid,
        },
      );
      process.kill();
      await process.ended;
      this.error = (error as Error).message;
      return false;
    }
    this.emit('engine.adopted', this.options.node, `Engine (${this.named(process.pid)}) kept running and was adopted`, {
      pid: process.pid,
    });
    return true;
  }

  /** Starts an engine, or adopts an earlier one if it is alive. Rejects with a DriverError. */
  start(): Promise<void> {
    if (this.status === 'running' || this.leaving) return Promise.resolve();
    this.starting ??= this.bringUp().finally(() => {
      this.starting = null;
    });
    return this.starting;
  }

  private async bringUp(): Promise<void> {
    this.set('starting', null);
    try {
      if (await this.adopt()) return;
      this.set('starting', null);
      rmSync(this.socketPath, { force: true });
      const begin = monotonicMs();
      const { path: command, memory, workers } = this.options;
      const args = ['--socket', this.socketPath, '--memory', memory, '--workers', String(workers)];
      const process = await DetachedProcess.start({ command, args, ...this.files });
      this.attach(process);
      await this.connect(process, START_LIMIT_MS);
      const ms = Math.round(monotonicMs() - begin);
      this.emit('engine.started', this.options.node, `Engine started in ${ms} ms (${this.named(process.pid)})`, {
        pid: process.pid,
        ms,
        memory: this.known?.memory ?? null,
      });
    } catch (error) {
      if (this.leaving) return;
      this.process?.kill();
      await this.process?.ended;
      // An engine that ended during its start has already been counted.
      if (this.status === 'starting') this.crashed((error as Error).message);
      throw new DriverError(`engine: ${this.error}`);
    }
  }

  async realize({ wiring }: Change): Promise<void> {
    if (wiring && !this.leaving) await this.elements.inTurn(() => this.apply(wiring));
  }

  private async apply(wiring: Wiring): Promise<void> {
    const { client } = this;
    if (!client || this.status !== 'running') throw new DriverError('the engine is not running');
    let digest: string;
    try {
      digest = (await this.newRanges(client, wiring)) ?? (await client.apply(this.elements.in(wiring.graph)));
    } catch (error) {
      throw error instanceof Refusal
        ? explainRefusal(error, wiring)
        : new DriverError(`engine: ${(error as Error).message}`);
    }
    if (client !== this.client) return;
    this.applied = wiring;
    this.appliedDigest = digest;
    this.elements.keepThoseIn(wiring.graph);
    this.differences.length = 0;
  }

  /**
   * Puts new ranges in force without a new graph, where nothing else is new. Null: something else is, or the engine
   * refuses a range; it then takes the whole graph.
   */
  private async newRanges(client: EngineClient, { graph }: Wiring): Promise<string | null> {
    const changed = this.applied && changedRanges(this.applied.graph, graph);
    if (!changed) return null;
    let digest: string | null = null;
    try {
      for (const { name, config } of changed)
        digest = await client.setSplit(name, config.ranges, config.exceptions !== undefined);
    } catch (error) {
      if (error instanceof Refusal) return null;
      throw error;
    }
    return digest;
  }

  async getInstanceState(instanceId: string, limit: number): Promise<Record<string, unknown>> {
    const state = await this.connected.getState(instanceId, limit);
    const streams = bytestreamOf(instanceId);
    if (!this.applied?.graph.modules.some(({ name }) => name === streams)) return state;
    return { ...state, bytestream: await this.connected.getState(streams, limit) };
  }

  async exportState(instanceId: string): Promise<Record<string, unknown>> {
    return this.connected.exportState(instanceId);
  }

  async importState(instanceId: string, state: Record<string, unknown>, renew = false): Promise<FlowImport | null> {
    return this.connected.importState(instanceId, state, renew);
  }

  readonly flows: FlowDriver = {
    export: async (instanceId, wanted) => this.connected.exportFlows(instanceId, wanted),
    release: async (instanceId, wanted) => this.connected.releaseFlows(instanceId, wanted),
  };

  readonly elements = new SwitchedNfs(
    () => this.connected,
    () => this.applied,
    (digest) => {
      this.appliedDigest = digest;
    },
  );

  readonly holds = new SplitHolds(
    () => this.connected,
    () => this.applied,
  );

  /** Counters of the engine; null if it is not running, or is busy with an earlier request. */
  async stats(): Promise<EngineStats | null> {
    if (!this.client || this.client.busy) return null;
    const stats = await this.client.stats();
    this.ports.take(stats.ports, this.applied !== null);
    this.compare(stats);
    return stats;
  }

  get drifts(): readonly Drift[] {
    return this.differences;
  }

  /** Leaves the engine running for the next agent, or stops it. */
  async close(keep: boolean): Promise<void> {
    this.leaving = true;
    this.heartbeat?.stop();
    await this.starting;
    const { process, client } = this;
    if (keep || !process) {
      client?.close();
      process?.release();
      return;
    }
    if (client) await process.stop(STOP_GRACE_MS, () => client.shutdown().catch(() => undefined));
    else await process.stop(STOP_GRACE_MS);
    client?.close();
    rmSync(this.socketPath, { force: true });
  }

  private get socketPath(): string {
    return join(this.options.run_dir, 'engine.sock');
  }

  private get files() {
    return { pid_file: join(this.options.run_dir, 'engine.pid'), log_file: join(this.options.run_dir, 'engine.log') };
  }

  private get connected(): EngineClient {
    if (!this.client || this.status === 'unresponsive')
      throw new DriverError(this.error ?? 'the engine is not running');
    return this.client;
  }

  /** An engine whose agent died before it wrote the PID file still serves the socket. */
  private async findBySocket(): Promise<DetachedProcess | null> {
    let client: EngineClient;
    try {
      client = await EngineClient.connect(this.socketPath, () => undefined);
    } catch {
      return null;
    }
    try {
      const identity = identify((await client.describe()).pid);
      if (!identity) return null;
      writeDurably(this.files.pid_file, `${JSON.stringify(identity)}\n`);
      return DetachedProcess.adopt(this.files);
    } catch {
      return null;
    } finally {
      client.close();
    }
  }

  private attach(process: DetachedProcess): void {
    this.process = process;
    process.ended.then((how) => {
      if (this.process === process) this.onEnd(process, how);
    });
  }

  private async connect(process: DetachedProcess, limit_ms: number): Promise<void> {
    const deadline = monotonicMs() + limit_ms;
    let last = 'it does not listen';
    while (process.alive) {
      if (this.leaving) throw new Error('the agent ends');
      if (monotonicMs() > deadline)
        throw new Error(`engine (${this.named(process.pid)}) was not ready after ${limit_ms} ms: ${last}`);
      try {
        const client = await EngineClient.connect(this.socketPath, (error) => this.onUnreachable(process, error));
        this.client = client;
        this.known = await client.describe();
        this.first = await client.stats();
        if (this.known.pid !== process.pid)
          throw new Error(`the socket is served by another process, ${this.named(this.known.pid)}`);
        this.watch(process);
        this.set('running', null);
        if (process.adopted) this.crashes = 0;
        sleep(STABLE_MS, undefined, { ref: false }).then(() => {
          if (this.process === process && this.status === 'running') this.crashes = 0;
        });
        return;
      } catch (error) {
        last = (error as Error).message;
        this.client?.close();
        this.client = null;
        await sleep(20);
      }
    }
    throw new Error(`engine ended while it started: ${await process.ended}; see ${this.files.log_file}`);
  }

  /** Tells when the engine falls silent and when it answers again; replaces one that stays silent. */
  private watch(process: DetachedProcess): void {
    const { node } = this.options;
    const { pid } = process;
    const socket = new HeartbeatSocket(this.socketPath);
    const heartbeat = new Heartbeat(
      socket.beat,
      {
        silent: () => {
          this.emit('engine.unresponsive', node, `Engine (${this.named(pid)}) does not answer`, { pid });
          if (this.status === 'running') this.set('unresponsive', 'the engine does not answer');
        },
        back: (silent_ms) => {
          const after = `after ${(silent_ms / 1000).toFixed(1)} s`;
          this.emit('engine.answers', node, `Engine (${this.named(pid)}) answers again ${after}`, { pid, silent_ms });
          if (this.status === 'unresponsive') this.set('running', null);
        },
        dead: () => {
          this.verdict = `it did not answer for ${this.heartbeatTiming.dead_ms / 1000} s and was killed`;
          process.kill();
        },
      },
      this.heartbeatTiming,
    );
    this.heartbeat = {
      stop: () => {
        heartbeat.stop();
        socket.close();
      },
    };
  }

  /** A graph that somebody else has applied is replaced: it is not the one that `view` names. */
  private compare({ graph_digest }: EngineStats): void {
    if (!this.applied || graph_digest === this.appliedDigest) return;
    this.applied = null;
    this.differences.push({
      part: 'engine',
      difference: 'it runs another graph than the one applied; what NFs without a place in that graph knew is lost',
      blocked: null,
    });
    this.onChange();
  }

  private onUnreachable(process: DetachedProcess, error: Error): void {
    if (this.process !== process || !this.serves || this.leaving) return;
    this.client = null;
    this.set('failed', error.message);
    // A dying engine closes its socket first; one that stays alive is hung.
    sleep(300).then(() => {
      if (!process.alive) return;
      this.emit(
        'engine.unresponsive',
        this.options.node,
        `${error.message}: engine (${this.named(process.pid)}) is ended`,
        {
          pid: process.pid,
        },
      );
      process.kill();
    });
  }

  /** The twin has process ids of its own, which nobody finds on the machine that it runs on. */
  private named(pid: number): string {
    return `pid ${pid}${this.options.origin === 'twin' ? ' in the twin' : ''}`;
  }

  private get serves(): boolean {
    return this.status === 'running' || this.status === 'unresponsive';
  }

  private onEnd(process: DetachedProcess, code: string): void {
    const how = this.verdict ?? code;
    this.verdict = null;
    this.heartbeat?.stop();
    this.heartbeat = null;
    this.client?.close();
    this.client = null;
    this.process = null;
    this.applied = null;
    this.elements.clear();
    this.known = null;
    this.ports.forget();
    this.differences.length = 0;
    if (this.leaving) {
      this.set('stopped', null);
      return;
    }
    this.emit(
      'engine.ended',
      this.options.node,
      `Engine (${this.named(process.pid)}) ended: ${how}; its flow state is lost`,
      {
        pid: process.pid,
        how,
      },
    );
    this.crashed(`engine ended: ${how}`);
  }

  private crashed(why: string): void {
    this.crashes++;
    this.startNotBefore =
      monotonicMs() + (this.crashes === 1 ? 0 : backoffMs(RESTART, this.crashes - 1, Math.random()));
    this.set('failed', why);
  }

  private set(status: EngineStatus, error: string | null): void {
    this.status = status;
    this.error = error;
    this.onChange();
  }
}
