import { join } from 'node:path';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import {
  API_PREFIX,
  type FabricSpec,
  type TwinSpec,
  type TwinState,
  type TwinStatus,
  TwinWatchLine,
} from '@orrery/contract';
import { CONFIG, type Config } from '../../platform/config.js';
import { LOG, type Log } from '../../platform/log.js';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { Mutex } from '../../platform/mutex.js';
import { Signal } from '../../platform/signal.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import type { FabricDriver } from '../../ports/fabric-driver.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TELEMETRY_SINK, type TelemetrySink } from '../../ports/telemetry.js';
import type { TwinView } from '../../ports/twin-view.js';
import { TwinProcess } from './twin-process.js';
import { TwindClient } from './twind-client.js';

const RETRY_FIRST_MS = 250;
const RETRY_MOST_MS = 10_000;
const FABRIC_LIMIT_MS = 15_000;
const EVENT_TYPE = /^[a-z-]+\.[a-z-]+$/;

/** Keeps the twin as the infrastructure and the fabric want it: starts, adopts, watches and brings it back. */
@Injectable()
export class TwinKeeper implements TwinView, FabricDriver, OnApplicationBootstrap, OnApplicationShutdown {
  readonly enabled: boolean;
  readonly client: TwindClient;
  private readonly process: TwinProcess;
  private readonly wanted = new Signal();
  private daemon: TwinStatus['daemon'] = 'off';
  private detail: string | null = null;
  private state: TwinState | null = null;
  /** The newest that is to be in force. */
  private fabric: FabricSpec | null = null;
  private readonly steering = new Mutex();
  private readonly stateListeners = new Set<() => void>();
  private watching: AbortController | null = null;
  private readonly sending = new Mutex();
  private sentRevision = 0;
  private readonly closing = new AbortController();
  private worker: Promise<void> = Promise.resolve();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Log,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(TELEMETRY_SINK) private readonly telemetry: TelemetrySink,
  ) {
    this.enabled = config.twin.enabled;
    this.client = new TwindClient(join(config.runDir, 'twind.sock'));
    this.process = new TwinProcess({
      launcher: config.twin.launcher,
      runDir: config.runDir,
      stateDir: join(config.stateDir, 'twin'),
    });
  }

  onApplicationBootstrap(): void {
    if (!this.enabled) return;
    this.infrastructure.onChange(() => {
      this.wanted.wake();
      if (!this.isWanted()) this.watching?.abort();
      else if (this.watching) this.sendNewSpec();
    });
    this.worker = this.work();
  }

  async onApplicationShutdown(): Promise<void> {
    this.closing.abort();
    this.watching?.abort();
    this.wanted.wake();
    await this.worker;
    if (this.enabled) await this.process.stop();
    await this.client.close();
  }

  status(): TwinStatus {
    return { enabled: this.enabled, daemon: this.daemon, detail: this.detail, state: this.state };
  }

  get fabricError(): string | null {
    return this.state?.fabric.error ?? null;
  }

  onChange(listener: () => void): void {
    this.stateListeners.add(listener);
  }

  get isRunning(): boolean {
    return this.daemon === 'running';
  }

  async apply(spec: FabricSpec): Promise<void> {
    if (!this.enabled) {
      if (spec.rules.length === 0) return;
      throw new Error('the twin is off');
    }
    if (!this.fabric || spec.generation > this.fabric.generation) this.fabric = spec;
    const deadline = Date.now() + FABRIC_LIMIT_MS;
    while (!this.isRunning) {
      if (Date.now() > deadline || this.closed) throw new Error(this.detail ?? 'the twin is not running');
      await this.nextState(500);
    }
    await this.sendFabric();
    let known = (await this.client.json<TwinState>('GET', '/state')).fabric;
    while (known.generation !== this.fabric?.generation) {
      if (known.error) throw new Error(known.error);
      if (Date.now() > deadline || this.closed) throw new Error('the switches do not take the rules in time');
      await this.nextState(Math.min(500, deadline - Date.now()));
      known = this.state?.fabric ?? known;
    }
    if (known.error) throw new Error(known.error);
  }

  /** The newest rules, one request after the other, so that older ones never come after them. */
  private sendFabric(): Promise<unknown> {
    return this.steering.run(() => this.client.json('PUT', '/fabric', this.fabric));
  }

  private get closed(): boolean {
    return this.closing.signal.aborted;
  }

  private isWanted(): boolean {
    const { servers, switches, hosts } = this.infrastructure.current.infrastructure;
    return [...servers, ...switches, ...hosts].some(({ origin }) => origin === 'twin');
  }

  private async work(): Promise<void> {
    let delay = RETRY_FIRST_MS;
    let wasRunning = false;
    while (!this.closed) {
      try {
        if (!this.isWanted()) {
          await this.process.stop();
          this.become('off', null);
          wasRunning = false;
          await this.wanted.wait();
          continue;
        }
        this.become(wasRunning ? 'lost' : 'starting', this.detail);
        const started = await this.process.ensure(() => this.answers(), this.closing.signal);
        if (wasRunning && started) this.metrics.twinRestarts.inc();
        await this.sendSpec();
        if (this.fabric) await this.sendFabric().catch((error: unknown) => this.refused(error));
        this.become('running', null);
        delay = RETRY_FIRST_MS;
        wasRunning = true;
        await this.watch();
        if (this.closed || !this.isWanted()) continue;
        throw new Error('twind ended');
      } catch (error) {
        if (this.closed) return;
        const { message } = error as Error;
        if (this.daemon === 'running' || this.detail !== message)
          this.events.append({
            type: this.daemon === 'running' ? 'twin.lost' : 'twin.failed',
            severity: 'error',
            subject: 'twin',
            message,
          });
        this.log.warn({ error: message }, 'the twin is not as it must be');
        this.become('lost', message);
        await this.wanted.wait(delay);
        delay = Math.min(delay * 2, RETRY_MOST_MS);
      }
    }
  }

  private become(daemon: TwinStatus['daemon'], detail: string | null): void {
    this.daemon = daemon;
    this.detail = detail;
    if (daemon !== 'running') this.state = null;
    for (const listener of this.stateListeners) listener();
  }

  private async answers(): Promise<boolean> {
    return this.client.json('GET', '/health').then(
      () => true,
      () => false,
    );
  }

  /** One at a time, so that the newest is the last. */
  private sendSpec(): Promise<void> {
    return this.sending.run(() => this.putSpec());
  }

  private sendNewSpec(): void {
    this.sendSpec().catch((error: unknown) => this.refused(error));
  }

  private async putSpec(): Promise<void> {
    const { revision, infrastructure } = this.infrastructure.current;
    const emulated = infrastructure.servers.filter(({ origin }) => origin === 'twin');
    const tokens = await Promise.all(emulated.map(({ id }) => this.fleet.issueJoinToken(id)));
    const spec: TwinSpec = {
      generation: revision,
      infrastructure,
      agents: {
        server_url: `ws+unix:${join(this.config.runDir, 'agents.sock')}:${API_PREFIX}/agent`,
        join_tokens: Object.fromEntries(tokens.map(({ node, token }) => [node, token])),
      },
    };
    this.sentRevision = revision;
    await this.client.json('PUT', '/spec', spec);
    this.detail = null;
  }

  private refused(error: unknown): void {
    const { message } = error as Error;
    this.detail = message;
    this.events.append({ type: 'twin.refused', severity: 'error', subject: 'twin', message });
  }

  /** Follows what twind tells until it ends. */
  private async watch(): Promise<void> {
    if (this.closed || !this.isWanted()) return;
    const watching = new AbortController();
    this.watching = watching;
    if (this.sentRevision !== this.infrastructure.current.revision) this.sendNewSpec();
    try {
      for await (const line of this.client.lines('/watch', watching.signal)) {
        const parsed = TwinWatchLine.safeParse(line);
        if (parsed.success) this.take(parsed.data);
        else this.log.warn({ line }, 'twind told something that is not of the contract');
      }
    } catch (error) {
      if (!watching.signal.aborted) throw error;
    } finally {
      this.watching = null;
    }
  }

  private take(line: TwinWatchLine): void {
    switch (line.type) {
      case 'state':
        this.state = line.state;
        for (const listener of this.stateListeners) listener();
        return;
      case 'links':
        this.telemetry.takeLinks(line.links);
        return;
      case 'event':
        this.events.append({
          type: EVENT_TYPE.test(line.event) ? line.event : 'twin.event',
          severity: line.severity,
          subject: line.subject,
          message: line.message,
          actor: 'twin',
          t_ms: line.t_ms,
        });
        return;
    }
  }

  private nextState(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.stateListeners.delete(finish);
        resolve();
      };
      const timer = setTimeout(finish, Math.max(ms, 1));
      this.stateListeners.add(finish);
    });
  }
}
