import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import {
  type AgentCapabilities,
  API_PREFIX,
  type BoardDescription,
  type Capability,
  type InstanceSpec,
  type JoinToken,
  type NodeSpec,
  type NodeStatus,
  type Observed,
  type Origin,
} from '@orrery/contract';
import type { WebSocket } from 'ws';
import { CONFIG, type Config } from '../../platform/config.js';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { PROBES, type Probes } from '../../platform/probes.js';
import { ProblemError } from '../../platform/problem.js';
import { STORE, type Store } from '../../platform/redis.js';
import { SOCKETS, type Sockets } from '../../platform/sockets.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { CallMethod, NodeFleet } from '../../ports/node-fleet.js';
import { TELEMETRY_SINK, type TelemetrySink } from '../../ports/telemetry.js';
import { AgentConnection, type AgentReport } from './agent-connection.js';
import { type AgentRecord, AgentRegistry } from './agent-registry.js';

const WATCH_MS = 100;
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const EVENT_TYPE = /^[a-z-]+\.[a-z-]+$/;

interface NodeState {
  connection: AgentConnection | null;
  connected: boolean;
  seenMs: number | null;
  observed: Observed | null;
  desired: NodeSpec | null;
  record: Omit<AgentRecord, 'credential_hash' | 'seen_ms'> | null;
}

/** Keeps up with every agent. One that was silent for two seconds is disconnected and what it reported is stale. */
@Injectable()
export class Fleet implements NodeFleet, OnModuleInit, OnApplicationShutdown {
  private readonly nodes = new Map<string, NodeState>();
  private readonly listeners: ((node: string) => void)[] = [];
  private readonly registry: AgentRegistry;
  private watch: NodeJS.Timeout | null = null;
  /** Since when this process hears agents: after a stall the silence before it is its own. */
  private hearsSinceMs = Date.now();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(STORE) store: Store,
    @Inject(SOCKETS) private readonly sockets: Sockets,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(PROBES) private readonly probes: Probes,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(TELEMETRY_SINK) private readonly telemetry: TelemetrySink,
  ) {
    this.registry = new AgentRegistry(store);
  }

  async onModuleInit(): Promise<void> {
    for (const [node, record] of await this.registry.records()) {
      const state = this.state(node);
      state.record = record;
      state.seenMs = record.seen_ms;
    }
    this.sockets.register({
      path: `${API_PREFIX}/agent`,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      onUnixSocket: true,
      handler: (socket) => this.accept(socket),
    });
    // Agents are pinged four times in `agentStaleMs`: a shorter stall makes none look silent.
    const stallMs = this.config.timing.agentStaleMs / 2;
    let lastMs = Date.now();
    this.watch = setInterval(() => {
      const nowMs = Date.now();
      if (nowMs - lastMs > stallMs) this.hearsSinceMs = nowMs;
      lastMs = nowMs;
      this.findSilent(nowMs);
    }, WATCH_MS);
    this.probes.onCapabilities(() => this.capabilities());
    this.probes.onHealth(() => {
      const statuses = this.statuses();
      const away = statuses.filter(({ state }) => state !== 'connected');
      return [
        {
          name: 'agents',
          status: statuses.length === 0 ? 'absent' : away.length > 0 ? 'degraded' : 'ok',
          detail: `${statuses.length - away.length} of ${statuses.length} connected`,
        },
      ];
    });
  }

  onApplicationShutdown(): void {
    if (this.watch) clearInterval(this.watch);
  }

  statuses(): NodeStatus[] {
    const ids = new Set(this.infrastructure.current.infrastructure.servers.map(({ id }) => id));
    for (const [node, { connected }] of this.nodes) if (connected) ids.add(node);
    return [...ids].sort().map((id) => this.describe(id));
  }

  status(node: string): NodeStatus | undefined {
    return this.statuses().find(({ id }) => id === node);
  }

  observed(node: string): Observed | null {
    return this.nodes.get(node)?.observed ?? null;
  }

  isConnected(node: string): boolean {
    return this.nodes.get(node)?.connected ?? false;
  }

  originOf(node: string): Origin {
    const server = this.infrastructure.current.infrastructure.servers.find(({ id }) => id === node);
    return server?.origin ?? this.nodes.get(node)?.record?.origin ?? 'live';
  }

  boardOf(node: string, board: string): BoardDescription | null {
    return this.nodes.get(node)?.record?.capabilities.boards?.find(({ id }) => id === board) ?? null;
  }

  offers(node: string, driver: InstanceSpec['driver']): boolean {
    const state = this.nodes.get(node);
    return (state?.record?.capabilities.drivers.includes(driver) || (state && runsBy(driver, state))) ?? false;
  }

  setDesired(node: string, spec: NodeSpec): void {
    const state = this.state(node);
    if (state.desired?.generation === spec.generation) return;
    state.desired = spec;
    state.connection?.tell(spec);
    this.changed(node);
  }

  async call(node: string, method: CallMethod, instanceId: string, params: Record<string, unknown>): Promise<unknown> {
    const connection = this.nodes.get(node)?.connection;
    if (!connection) throw new ProblemError(502, `The agent of ${node} is not connected.`);
    return connection.call(method, instanceId, params);
  }

  issueJoinToken(node: string): Promise<JoinToken> {
    return this.registry.issueToken(node);
  }

  onChange(listener: (node: string) => void): void {
    this.listeners.push(listener);
  }

  private accept(socket: WebSocket): void {
    let complained = false;
    const { agentStaleMs, callTimeoutMs } = this.config.timing;
    // Four chances to be heard before an agent counts as silent.
    const settings = { serverVersion: this.config.version, callTimeoutMs, pingMs: agentStaleMs / 4 };
    new AgentConnection(socket, settings, {
      admit: (hello) => this.registry.admit(hello),
      welcomed: (connection, hello) => {
        const state = this.state(hello.node);
        const before = state.connection;
        state.connection = connection;
        before?.cut();
        const { origin, version, capabilities } = hello;
        state.record = { origin, version, capabilities };
        state.observed = hello.observed;
        this.seen(hello.node);
        this.changed(hello.node);
        return state.desired ?? undefined;
      },
      report: (connection, report) => this.take(connection.node!, report),
      alive: (connection) => this.nodes.get(connection.node!)?.connection === connection && this.seen(connection.node!),
      invalid: (connection, why) => {
        if (complained || !connection.node) return;
        complained = true;
        this.events.append({
          type: 'node.protocol-error',
          severity: 'error',
          subject: connection.node,
          message: `${connection.node} sent a message that is not of the protocol: ${why}`,
        });
      },
      closed: (connection) => {
        const state = connection.node ? this.nodes.get(connection.node) : undefined;
        if (state?.connection === connection) state.connection = null;
      },
    });
  }

  private take(node: string, report: AgentReport): void {
    const state = this.state(node);
    if (report.type === 'observed') {
      state.observed = report.observed;
      this.changed(node);
    } else if (report.type === 'samples') {
      this.metrics.sampleSets.inc();
      this.telemetry.takeNode(node, this.originOf(node), report.samples);
    } else {
      this.events.append({
        type: EVENT_TYPE.test(report.event) ? report.event : 'node.event',
        severity: report.severity,
        subject: report.subject,
        message: report.message,
        actor: `agent ${node}`,
        data: { ...report.data, node },
        t_ms: report.t_ms,
      });
    }
  }

  private seen(node: string): void {
    const state = this.state(node);
    state.seenMs = Date.now();
    if (state.connected) return;
    state.connected = true;
    this.metrics.agents.inc();
    this.events.append({
      type: 'node.connected',
      subject: node,
      message: `The agent of ${node} is connected`,
      data: { origin: this.originOf(node) },
    });
    this.changed(node);
  }

  private findSilent(nowMs: number): void {
    const limitMs = nowMs - this.config.timing.agentStaleMs;
    for (const [node, state] of this.nodes) {
      if (!state.connected || Math.max(state.seenMs!, this.hearsSinceMs) >= limitMs) continue;
      state.connected = false;
      state.connection?.cut();
      state.connection = null;
      this.metrics.agents.dec();
      this.events.append({
        type: 'node.disconnected',
        severity: 'warning',
        subject: node,
        message: `Nothing was heard of the agent of ${node} for ${this.config.timing.agentStaleMs / 1000} s`,
        data: { origin: this.originOf(node) },
      });
      this.changed(node);
    }
  }

  private describe(id: string): NodeStatus {
    const state = this.nodes.get(id);
    const observed = state?.observed ?? null;
    return {
      id,
      origin: this.originOf(id),
      state: state?.connected ? 'connected' : state?.record ? 'disconnected' : 'never-seen',
      engine: state?.connected && observed ? observed.engine : 'unknown',
      generation: { desired: state?.desired?.generation ?? 0, observed: observed?.generation ?? 0 },
      version: state?.record?.version ?? null,
      capabilities: { ...state?.record?.capabilities },
      last_seen_ms: state?.seenMs ?? null,
      detail: observed?.error ?? null,
    };
  }

  private capabilities(): Capability[] {
    return [...this.nodes].flatMap(([node, { connected, record, observed }]) => {
      if (!connected || !record) return [];
      const { dpdk, engine_memory, cores, nfs, containers } = record.capabilities;
      const parts = [`${cores} cores`, `${nfs.length} NFs`];
      if (dpdk) parts.unshift(dpdk, engine_memory ?? 'memory unknown');
      const usable = nfs.length > 0 && observed?.engine !== 'failed';
      return [
        {
          id: 'engine',
          title: 'Data-plane engine',
          where: node,
          available: usable,
          detail: `${parts.join(', ')}; ${observed?.engine ?? 'unknown'}`,
          fallback: null,
        },
        ...(containers ? [containerCapability(node, containers)] : []),
      ];
    });
  }

  private state(node: string): NodeState {
    let state = this.nodes.get(node);
    if (!state) {
      state = { connection: null, connected: false, seenMs: null, observed: null, desired: null, record: null };
      this.nodes.set(node, state);
    }
    return state;
  }

  private changed(node: string): void {
    for (const listener of this.listeners) listener(node);
  }
}

function containerCapability(
  where: string,
  { available, detail }: NonNullable<AgentCapabilities['containers']>,
): Capability {
  const fallback = available ? null : 'NFs run in the engine';
  return { id: 'containers', title: 'Container NFs', where, available, detail, fallback };
}

/** Whether an instance is to run by the driver that the agent does not call failed; of a silent agent its last word counts. */
function runsBy(driver: InstanceSpec['driver'], { desired, observed }: NodeState): boolean {
  const failed = new Set(observed?.instances.filter(({ state }) => state === 'failed').map(({ id }) => id));
  return desired?.instances.some((instance) => instance.driver === driver && !failed.has(instance.id)) ?? false;
}
