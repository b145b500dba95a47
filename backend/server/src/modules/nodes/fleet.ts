import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import {
  type AgentCapabilities,
  API_PREFIX,
  type ApplicationsSpec,
  type BoardDescription,
  type Capability,
  type ContainerImage,
  type EngineAbility,
  type InstanceSpec,
  imageLack,
  type JoinToken,
  KeptReading,
  type NodeSpec,
  type NodeStatus,
  type Observed,
  type ObservedApplications,
  type ObservedSwitch,
  type Origin,
  type P4ProgramFiles,
  PacketTraces,
  type ShellOutput,
  type ShellSize,
  type SwitchAbilities,
  type SwitchDescription,
  type SwitchSpec,
} from '@orrery/contract';
import { linkedSlots } from '@orrery/planner';
import type { WebSocket } from 'ws';
import { BoundedAudit } from '../../platform/audit.js';
import { CONFIG, type Config } from '../../platform/config.js';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { PROBES, type Probes } from '../../platform/probes.js';
import { conflict, ProblemError } from '../../platform/problem.js';
import { SOCKETS, type Sockets, type Visitor } from '../../platform/sockets.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { TIMEOUTS_OF_A_DRIVER } from '../../ports/fabric-driver.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { CallMethod, NodeFleet } from '../../ports/node-fleet.js';
import type { NodeShell, NodeShells } from '../../ports/node-shells.js';
import { formerDriver, type SwitchFleet } from '../../ports/switch-fleet.js';
import { TELEMETRY_SINK, type TelemetrySink } from '../../ports/telemetry.js';
import { AgentConnection, type AgentReport, type DesiredMessage } from './agent-connection.js';
import { draftOfAgent, EventGate } from './agent-events.js';
import { AgentPace, REPLY_BYTES } from './agent-limits.js';
import { type AgentDescription, AgentRegistry, describedBy } from './agent-registry.js';
import { DesiredChains } from './desired-chains.js';
import { ExpectedFailures } from './expected-failures.js';
import { Property } from './property.js';

const WATCH_MS = 100;

interface NodeState {
  connection: AgentConnection | null;
  connected: boolean;
  /** Wall-clock time, for display. */
  seenMs: number | null;
  /** Monotonic clock. */
  heardMs: number;
  /** When the connection was admitted; monotonic clock. */
  helloMs: number;
  /** For how long nothing had been heard of the agent then. */
  awayMs: number;
  observed: Observed | null;
  observedSwitch: ObservedSwitch | null;
  desired: DesiredMessage | null;
  applications: ApplicationsSpec | null;
  observedApplications: ObservedApplications | null;
  record: AgentDescription | null;
  readonly property: Property;
  readonly pace: AgentPace;
  readonly gate: EventGate;
}

/** Tracks every agent. One that is silent for two seconds is disconnected, and its reports are stale. */
@Injectable()
export class Fleet implements NodeFleet, NodeShells, SwitchFleet, OnModuleInit, OnApplicationShutdown {
  private readonly nodes = new Map<string, NodeState>();
  private readonly listeners: ((node: string) => void)[] = [];
  private readonly refusals: BoundedAudit;
  private readonly expected: ExpectedFailures;
  private watch: NodeJS.Timeout | null = null;
  /** Start of the current period without stalls: silence before it is the server's own. */
  private hearsSinceMs = performance.now();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(AgentRegistry) private readonly registry: AgentRegistry,
    @Inject(SOCKETS) private readonly sockets: Sockets,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(PROBES) private readonly probes: Probes,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(TELEMETRY_SINK) private readonly telemetry: TelemetrySink,
    @Inject(DesiredChains) private readonly chains: DesiredChains,
  ) {
    this.refusals = new BoundedAudit(events);
    this.expected = new ExpectedFailures(TIMEOUTS_OF_A_DRIVER * config.timing.stepTimeoutMs);
  }

  async onModuleInit(): Promise<void> {
    const followDrivers = () => this.expected.follow(this.infrastructure.current.infrastructure, performance.now());
    followDrivers();
    this.infrastructure.onChange(() => {
      followDrivers();
      this.dismissRemoved();
    });
    for (const record of await this.registry.records()) {
      const state = this.state(record.node);
      state.record = record;
      state.seenMs = record.seen_ms;
    }
    this.sockets.register({
      path: `${API_PREFIX}/agent`,
      maxMessageBytes: REPLY_BYTES,
      onUnixSocket: true,
      forPages: false,
      handler: (socket, visitor) => this.accept(socket, visitor),
    });
    // Agents are pinged four times per `agentStaleMs`, so a shorter stall makes none look silent.
    const stallMs = this.config.timing.agentStaleMs / 2;
    let lastMs = performance.now();
    this.watch = setInterval(() => {
      const nowMs = performance.now();
      if (nowMs - lastMs > stallMs) this.hearsSinceMs = nowMs;
      lastMs = nowMs;
      this.findSilent(nowMs);
      for (const { gate } of this.nodes.values()) for (const note of gate.due()) this.events.append(note);
      const isFailed = (id: string) => this.observedSwitch(id)?.state === 'failed';
      for (const failure of this.expected.due(nowMs, (id) => this.runsAsWanted(id), isFailed))
        this.events.append(failure);
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
    const { servers, switches } = this.infrastructure.current.infrastructure;
    const ids = new Set([...servers, ...switches].map(({ id }) => id));
    for (const [node, { connected }] of this.nodes) if (connected) ids.add(node);
    return [...ids].sort().map((id) => this.describe(id));
  }

  status(node: string): NodeStatus | undefined {
    return this.isListed(node) ? this.describe(node) : undefined;
  }

  observed(node: string): Observed | null {
    return this.nodes.get(node)?.observed ?? null;
  }

  isConnected(node: string): boolean {
    return this.nodes.get(node)?.connected ?? false;
  }

  connectedSinceMs(node: string): number | null {
    const state = this.nodes.get(node);
    return state?.connection ? state.helloMs : null;
  }

  hasConnection(node: string): boolean {
    return (this.nodes.get(node)?.connection ?? null) !== null;
  }

  originOf(node: string): Origin {
    const { servers, switches } = this.infrastructure.current.infrastructure;
    const known = [...servers, ...switches].find(({ id }) => id === node);
    return known?.origin ?? this.nodes.get(node)?.record?.origin ?? 'live';
  }

  boardOf(node: string, board: string): BoardDescription | null {
    return this.nodes.get(node)?.record?.capabilities?.boards?.find(({ id }) => id === board) ?? null;
  }

  offers(node: string, driver: InstanceSpec['driver']): boolean {
    const state = this.nodes.get(node);
    return (state?.record?.capabilities?.drivers.includes(driver) || (state && runsBy(driver, state))) ?? false;
  }

  containsPrograms(node: string): boolean {
    return this.nodes.get(node)?.record?.capabilities?.containers?.programs ?? false;
  }

  legacyNfsOf(node: string): AgentCapabilities['legacy_nfs'] | null {
    return this.nodes.get(node)?.record?.capabilities?.legacy_nfs ?? null;
  }

  imageLackOf(node: string, image: ContainerImage, isOfUser: boolean): string | null {
    const capabilities = this.nodes.get(node)?.record?.capabilities;
    return capabilities ? imageLack(capabilities, image, isOfUser) : null;
  }

  observedSwitch(id: string): ObservedSwitch | null {
    return this.nodes.get(id)?.observedSwitch ?? null;
  }

  switchAbilities(id: string): SwitchAbilities | null {
    return this.switchDescription(id)?.abilities ?? null;
  }

  switchAbilitiesBy(id: string, driver: string): SwitchAbilities | null {
    const record = this.nodes.get(id)?.record;
    if (record?.description?.driver === driver) return record.description.abilities;
    return record?.drivers?.[driver] ?? null;
  }

  switchDescription(id: string): SwitchDescription | null {
    return this.nodes.get(id)?.record?.description ?? null;
  }

  workersOf(node: string): number | null {
    return this.nodes.get(node)?.record?.capabilities?.workers ?? null;
  }

  abilitiesOf(node: string): readonly EngineAbility[] {
    return this.nodes.get(node)?.record?.capabilities?.abilities ?? [];
  }

  setDesired(node: string, spec: NodeSpec): void {
    this.chains.told(node, spec);
    this.desire(node, { type: 'desired', spec });
  }

  setDesiredSwitch(id: string, spec: SwitchSpec, program?: P4ProgramFiles): void {
    this.desire(id, { type: 'switch-desired', spec, ...(program && { program }) });
  }

  private desire(node: string, desired: DesiredMessage): void {
    const state = this.state(node);
    if (state.desired?.type === desired.type && state.desired.spec.generation === desired.spec.generation) return;
    state.desired = desired;
    state.property.told(desired);
    state.connection?.tell(desired);
    this.changed(node);
  }

  setApplications(node: string, spec: ApplicationsSpec): void {
    const state = this.state(node);
    state.applications = spec;
    state.property.toldApplications(spec);
    state.connection?.tellApplications(spec);
  }

  observedApplications(node: string): ObservedApplications | null {
    return this.nodes.get(node)?.observedApplications ?? null;
  }

  async call(
    node: string,
    method: CallMethod,
    instanceId: string,
    params: Record<string, unknown>,
    signal?: AbortSignal,
  ): Promise<unknown> {
    return this.connectionOf(node).call(method, instanceId, params, signal);
  }

  async openShell(
    node: string,
    instanceId: string,
    size: ShellSize,
    listen: (message: ShellOutput) => void,
  ): Promise<NodeShell> {
    return this.connectionOf(node).openShell(instanceId, size, listen);
  }

  private connectionOf(node: string): AgentConnection {
    const connection = this.nodes.get(node)?.connection;
    if (!connection) throw new ProblemError(502, `The agent of ${node} is not connected.`);
    return connection;
  }

  async traces(
    id: string,
    method: 'arm_traces' | 'read_traces',
    params: Record<string, unknown>,
  ): Promise<PacketTraces> {
    const answer = PacketTraces.safeParse(await this.call(id, method, id, params));
    if (!answer.success) throw new ProblemError(502, `The agent of ${id} sent traces that cannot be read.`);
    return answer.data;
  }

  program(id: string, method: 'read_program' | 'read_cells', params: Record<string, unknown>): Promise<unknown> {
    return this.call(id, method, id, params);
  }

  async kept(id: string, split: number, signal?: AbortSignal): Promise<KeptReading> {
    const answer = KeptReading.safeParse(await this.call(id, 'read_kept', id, { split }, signal));
    if (!answer.success) throw new ProblemError(502, `The agent of ${id} sent kept flows that cannot be read.`);
    return answer.data;
  }

  issueJoinToken(node: string, actor: string): Promise<JoinToken> {
    return this.registry.issueToken(node, actor);
  }

  /** Throws 404 if the node has no credential, 409 if twind gives it its credentials. */
  async revokeCredential(node: string, actor: string): Promise<void> {
    if (this.isKnown(node) && this.originOf(node) === 'twin')
      throw conflict(`${node} is emulated; the twin gives its agents new credentials whenever it starts them.`);
    await this.registry.revoke(node, actor);
    this.lose(node, `The credential of ${node} was revoked`, true);
  }

  hasPlace(place: string): boolean {
    return this.isListed(place) || linkedSlots(this.infrastructure.current.infrastructure).has(place);
  }

  /** Whether the infrastructure has the node: no other may join. */
  isKnown(node: string): boolean {
    const { servers, switches } = this.infrastructure.current.infrastructure;
    return servers.some(({ id }) => id === node) || switches.some(({ id }) => id === node);
  }

  private isListed(node: string): boolean {
    return this.isKnown(node) || this.isConnected(node);
  }

  onChange(listener: (node: string) => void): void {
    this.listeners.push(listener);
  }

  private accept(socket: WebSocket, visitor: Visitor): void {
    let complained = false;
    const { agentStaleMs } = this.config.timing;
    // Four pings before an agent counts as silent.
    const settings = { serverVersion: this.config.version, pingMs: agentStaleMs / 4 };
    const whyUnknown = (node: string) => `${node} is not in the infrastructure`;
    new AgentConnection(socket, visitor, settings, {
      admit: async (hello) => {
        const admission = this.isKnown(hello.node)
          ? await this.registry.admit(hello)
          : { admitted: false as const, why: whyUnknown(hello.node) };
        if (!admission.admitted) this.noteRefusal(hello.node, visitor.address, admission.why);
        return admission;
      },
      welcomed: (connection, hello) => {
        // Removed while it was admitted.
        if (!this.isKnown(hello.node)) {
          this.noteRefusal(hello.node, visitor.address, whyUnknown(hello.node));
          connection.refuse(whyUnknown(hello.node));
          return null;
        }
        const state = this.state(hello.node);
        const before = state.connection;
        state.connection = connection;
        state.helloMs = performance.now();
        state.awayMs = state.helloMs - state.heardMs;
        before?.cut();
        state.record = describedBy(hello);
        // Null until its first report: what an earlier connection told is not current.
        if (hello.type === 'hello') state.observed = hello.observed;
        else state.observedSwitch = hello.observed;
        this.seen(hello.node);
        this.changed(hello.node);
        if (state.applications) connection.tellApplications(state.applications);
        return state.desired;
      },
      report: (connection, report) => this.take(connection.node!, report),
      alive: (connection) => this.nodes.get(connection.node!)?.connection === connection && this.seen(connection.node!),
      invalid: (connection, why) => {
        if (complained || !connection.node) return;
        complained = true;
        this.events.append({
          type: 'node.protocol-error',
          subject: connection.node,
          message: `${connection.node} sent an invalid message: ${why}`,
          data: {},
        });
      },
      paceOf: (node) => this.state(node).pace,
      slowed: () => this.metrics.agentsSlowed.inc(),
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
    } else if (report.type === 'applications') {
      state.observedApplications = state.property.ownApplications(report.observed);
      this.telemetry.takeApplications(node, this.originOf(node), state.observedApplications);
    } else if (report.type === 'switch-observed') {
      state.observedSwitch = report.observed;
      this.changed(node);
    } else if (report.type === 'switch-samples') {
      this.metrics.sampleSets.inc();
      const { own, foreign } = state.property.ownSwitchSamples(report.samples);
      this.metrics.samplesForeign.inc(foreign);
      this.telemetry.takeSwitch(node, this.originOf(node), own);
    } else if (report.type === 'samples') {
      this.metrics.sampleSets.inc();
      const { own, foreign } = state.property.ownSamples(report.samples);
      this.metrics.samplesForeign.inc(foreign);
      this.telemetry.takeNode(node, this.originOf(node), own);
    } else {
      const { draft, known } = draftOfAgent(node, report, state.property, this.chains, state);
      if (!known) this.metrics.eventsUnknown.inc({ source: 'agent' });
      if (this.expected.holds(draft)) return;
      for (const each of state.gate.pass(draft)) this.events.append(each);
    }
  }

  private noteRefusal(node: string, address: string, why: string): void {
    this.refusals.note(`${address} ${node}`, (unrecorded) => ({
      type: 'node.refused',
      subject: node,
      message: `An agent that called itself ${node} was refused: ${why}`,
      data: { address, unrecorded },
    }));
  }

  private seen(node: string): void {
    const state = this.state(node);
    state.seenMs = Date.now();
    state.heardMs = performance.now();
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
      if (state.connection?.hasReceived()) state.heardMs = nowMs;
      // While the server does not read, by a stall or to slow the agent down, the silence is its own.
      const readsSinceMs = Math.max(this.hearsSinceMs, state.connection?.readsSinceMs ?? 0);
      if (state.connected && Math.max(state.heardMs, readsSinceMs) < limitMs)
        this.lose(node, `No message from the agent of ${node} for ${this.config.timing.agentStaleMs / 1000} s`);
    }
  }

  /** Ends the connection of a node, if there is one. */
  private lose(node: string, message: string, credentialRevoked = false): void {
    const state = this.nodes.get(node);
    if (!state) return;
    state.connection?.refuse(message, credentialRevoked);
    state.connection = null;
    if (!state.connected) return;
    state.connected = false;
    this.metrics.agents.dec();
    const data = { origin: this.originOf(node), chains: this.chains.of(node) };
    this.events.append({ type: 'node.disconnected', subject: node, message, data });
    this.changed(node);
  }

  private dismissRemoved(): void {
    for (const [node, { connection }] of this.nodes)
      if (connection && !this.isKnown(node)) this.lose(node, `${node} was removed from the infrastructure`);
  }

  /** A switch of the driver that it is to have, in its desired state. */
  private runsAsWanted(id: string): boolean {
    return this.isConnected(id) && !this.hasFormerDriver(id) && this.observedSwitch(id)?.state === 'converged';
  }

  private hasFormerDriver(id: string): boolean {
    const node = this.infrastructure.current.infrastructure.switches.find((one) => one.id === id);
    return node !== undefined && formerDriver(this, node) !== null;
  }

  private boardsOf(node: string): ReadonlySet<string> {
    const { boards } = this.infrastructure.current.infrastructure;
    return new Set(boards.filter(({ server }) => server === node).map(({ id }) => id));
  }

  private describe(id: string): NodeStatus {
    const state = this.nodes.get(id);
    const observed = state?.observed ?? null;
    const reported = state?.observedSwitch ?? observed;
    return {
      id,
      kind: this.kindOf(id),
      origin: this.originOf(id),
      state: state?.connected ? 'connected' : state?.record ? 'disconnected' : 'never-seen',
      engine: state?.connected && observed ? observed.engine : 'unknown',
      generation: { desired: state?.desired?.spec.generation ?? 0, observed: reported?.generation ?? 0 },
      version: state?.record?.version ?? null,
      capabilities: { ...state?.record?.capabilities, ...state?.record?.description },
      last_seen_ms: state?.seenMs ?? null,
      // What an agent tells of the driver before is not about the switch as it is to be.
      detail: this.hasFormerDriver(id) ? null : (reported?.error ?? null),
    };
  }

  private kindOf(id: string): NodeStatus['kind'] {
    const { switches } = this.infrastructure.current.infrastructure;
    return this.nodes.get(id)?.record?.description || switches.some((one) => one.id === id) ? 'switch' : 'server';
  }

  private capabilities(): Capability[] {
    return [...this.nodes].flatMap(([node, { connected, record, observed }]) => {
      if (!connected || !record?.capabilities) return [];
      const { dpdk, engine_memory, cores, nfs, containers, legacy_nfs, cpu_features } = record.capabilities;
      const parts = [cores === 1 ? '1 core' : `${cores} cores`, `${nfs.length} NFs`];
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
        ...(legacy_nfs ? [legacyCapability(node, legacy_nfs)] : []),
        ...(cpu_features ? [instructionsCapability(node, cpu_features)] : []),
      ];
    });
  }

  private state(node: string): NodeState {
    let state = this.nodes.get(node);
    if (!state) {
      const pace = new AgentPace();
      state = {
        connection: null,
        connected: false,
        seenMs: null,
        heardMs: 0,
        helloMs: 0,
        awayMs: 0,
        observed: null,
        observedSwitch: null,
        desired: null,
        applications: null,
        observedApplications: null,
        record: null,
        property: new Property(node, () => this.boardsOf(node)),
        pace,
        gate: new EventGate(node, pace.events, () => this.metrics.agentEventsDropped.inc()),
      };
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

function instructionsCapability(where: string, features: readonly string[]): Capability {
  const available = features.length > 0;
  const detail = available ? features.join(', ') : 'the processor has none that NFs use';
  const fallback = available ? null : 'NFs work without them and cannot be accelerated here';
  return { id: 'cpu-instructions', title: 'CPU instructions', where, available, detail, fallback };
}

function legacyCapability(
  where: string,
  { enabled, nfs, detail }: NonNullable<AgentCapabilities['legacy_nfs']>,
): Capability {
  const fallback = enabled ? null : `of legacy NFs only ${nfs.join(', ')} run here`;
  return { id: 'legacy-nfs', title: 'Legacy NFs of users', where, available: enabled, detail, fallback };
}

/** Whether a desired instance uses the driver and has not failed; of a silent agent the last report counts. */
function runsBy(driver: InstanceSpec['driver'], { desired, observed }: NodeState): boolean {
  const failed = new Set(observed?.instances.filter(({ state }) => state === 'failed').map(({ id }) => id));
  if (desired?.type !== 'desired') return false;
  return desired.spec.instances.some((instance) => instance.driver === driver && !failed.has(instance.id));
}
