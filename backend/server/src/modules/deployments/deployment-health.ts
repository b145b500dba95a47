import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import {
  type Deployment,
  type EventDraft,
  type Infrastructure,
  linkDownTrouble,
  type NodeSpec,
  type Operation,
} from '@orrery/contract';
import { CONFIG, type Config } from '../../platform/config.js';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { Decision, LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { DATA_PATH, type DataPath } from '../../ports/data-path.js';
import { FABRIC_VIEW, type FabricView } from '../../ports/fabric-driver.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { AppliedForms } from './applied-forms.js';
import { DesiredStore } from './desired-store.js';
import { lackingInstance } from './lacking-instance.js';
import { driversUnderWay } from './switch-desire.js';

/** For failed writes to the store. */
const BACKOFF = { firstMs: 1000, mostMs: 1000 };
const DEADLINE_MS = 30_000;
const MOST_REASON_CHARACTERS = 2000;
/** An agent sends its first report at once; this many times the age at which a silent agent is stale allows for a busy machine. */
const FIRST_REPORT_STALE_TIMES = 3;
/** Another reason of the same degradation is told this long after the last one, at the earliest, unless it is that everything is lost. */
const REASON_MS = 5000;
/** How often it is asked whether an interruption outlasts the change that caused it. */
const INTERRUPTED_MS = 1000;

const WORDS: Readonly<Partial<Record<EventDraft['type'], string>>> = {
  'deployment.degraded': 'Degraded',
  'deployment.interrupted': 'Interrupted by a planned change',
  'deployment.reason-changed': 'Degraded for another reason',
  'deployment.recovered': 'Recovered',
};

type LinkEnd = Infrastructure['links'][number]['a'];

interface Trouble {
  readonly what: string;
  /** Caused by a change in progress or by the server's start: does not degrade a deployment, but prevents its recovery. */
  readonly isExpected: boolean;
  /** The switch whose driver an operation is changing, where that is the cause. It degrades a deployment, which is no error. */
  readonly changes?: string;
}

/**
 * Marks a running chain degraded because of an unhealthy agent, engine, instance or switch, or because it loses every packet, and
 * running again once all of its instances run, its servers have converged and packets get through.
 */
@Injectable()
export class DeploymentHealth implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  /** Deadline for agents and twin to return after a start of the server; monotonic clock. */
  private readonly startedByMs: number;
  /** Deadline for the first report of each node that is connected and has not reported; monotonic clock. */
  private readonly reportByMs = new Map<string, number>();
  private readonly firstReportMs: number;
  private readonly forms = new AppliedForms();
  /** When a change of the reason of each chain was last told, by a monotonic clock, and whether it lost everything. */
  private readonly reasonsTold = new Map<string, { readonly atMs: number; readonly losesAll: boolean }>();
  /** Chains that were told to be interrupted by a planned change, and not yet that they are well again or that it lasts. */
  private readonly interrupted = new Set<string>();

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(CONFIG) config: Config,
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(TWIN) private readonly twin: TwinView,
    @Inject(FABRIC_VIEW) private readonly fabric: FabricView,
    @Inject(DATA_PATH) private readonly dataPath: DataPath,
  ) {
    this.startedByMs = performance.now() + config.timing.agentStaleMs;
    this.firstReportMs = FIRST_REPORT_STALE_TIMES * config.timing.agentStaleMs;
    this.loop = loops.add({
      id: 'deployment-health',
      title: 'Deployment health',
      purpose: 'Compares reports of agents, engines and switches with what is deployed, and marks degraded chains.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      run: (run) => this.look(run),
    });
  }

  onApplicationBootstrap(): void {
    for (const source of [this.fleet, this.state, this.twin, this.fabric, this.dataPath])
      source.onChange(() => this.loop.wake());
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  private get isStarting(): boolean {
    return performance.now() < this.startedByMs;
  }

  private async look({ step, decide }: LoopRun): Promise<RunOutcome | undefined> {
    this.followFirstReports();
    if (this.differences().entries.size > 0) for (const decision of await step(this.write())) decide(decision);
    const nowMs = performance.now();
    for (const [chainId, { atMs }] of this.reasonsTold) if (nowMs - atMs >= REASON_MS) this.reasonsTold.delete(chainId);
    for (const id of this.interrupted) if (!this.isDegraded(id)) this.interrupted.delete(id);
    const reasonsByMs = [...this.reasonsTold.values()].map(({ atMs }) => atMs + REASON_MS);
    const interruptedByMs = this.interrupted.size > 0 ? [nowMs + INTERRUPTED_MS] : [];
    const dueMs = [this.startedByMs, ...this.reportByMs.values(), ...reasonsByMs, ...interruptedByMs].filter(
      (atMs) => atMs > nowMs,
    );
    return dueMs.length > 0 ? { again: Math.max(Math.min(...dueMs) - nowMs, 1) } : undefined;
  }

  private isDegraded(chainId: string): boolean {
    return this.state.deployments().some(({ chain_id, state }) => chain_id === chainId && state === 'degraded');
  }

  private followFirstReports(): void {
    const nowMs = performance.now();
    for (const node of Object.keys(this.state.desired.nodes)) {
      if (!this.fleet.isConnected(node) || this.fleet.observed(node)) this.reportByMs.delete(node);
      else if (!this.reportByMs.has(node)) this.reportByMs.set(node, nowMs + this.firstReportMs);
    }
    for (const node of this.reportByMs.keys()) if (!(node in this.state.desired.nodes)) this.reportByMs.delete(node);
  }

  /** Stores the differences at the time of writing. */
  private async write(): Promise<Decision[]> {
    let written: EventDraft[] = [];
    await this.state.commit(() => {
      const { entries, events } = this.differences();
      written = events;
      return entries.size > 0 ? { deployments: entries, events } : null;
    });
    for (const { subject, type } of written) {
      if (type === 'deployment.reason-changed')
        this.reasonsTold.set(subject, { atMs: performance.now(), losesAll: this.losesAll(subject) });
      else if (type === 'deployment.interrupted') this.interrupted.add(subject);
      else this.interrupted.delete(subject);
    }
    const { generation } = this.state.desired;
    return written.map(({ subject, type, message }) => ({
      subject,
      what: WORDS[type] ?? type,
      why: message,
      inputs: { generation },
      told: true,
    }));
  }

  private differences(): { entries: Map<string, Deployment>; events: EventDraft[] } {
    const entries = new Map<string, Deployment>();
    const events: EventDraft[] = [];
    this.forms.follow(this.state.desired.nodes, (node) => this.fleet.observed(node));
    for (const deployment of this.state.deployments()) {
      const { chain_id: id, state } = deployment;
      if (state !== 'running' && state !== 'degraded') continue;
      const trouble = this.troubleOf(id);
      const causes = trouble.filter(({ isExpected }) => !isExpected);
      const unexpected = causes.map(({ what }) => what);
      const degraded = unexpected.length > 0;
      const { reason: before, ...rest } = deployment;
      const reason = unexpected.join('; ').slice(0, MOST_REASON_CHARACTERS);
      const changing = causes.flatMap(({ changes }) => changes ?? []);
      const isPlanned = degraded && changing.length === causes.length;
      const told = { subject: id, message: unexpected.join('; '), data: { trouble: unexpected } };
      if (state === 'degraded' && degraded && !isPlanned && this.interrupted.has(id)) {
        entries.set(id, { ...rest, reason });
        events.push({ ...told, type: 'deployment.degraded' });
      } else if (state === 'degraded' && isPlanned && before !== reason) {
        entries.set(id, { ...rest, reason });
      } else if (state === 'degraded' && degraded && before !== reason && this.mayTellReason(id)) {
        entries.set(id, { ...rest, reason });
        events.push({ ...told, type: 'deployment.reason-changed' });
      }
      if (state === 'running' ? !degraded : trouble.length > 0) continue;
      const now = { ...rest, state: degraded ? ('degraded' as const) : ('running' as const), since_ms: Date.now() };
      entries.set(id, degraded ? { ...now, reason } : now);
      if (!degraded) events.push({ ...told, type: 'deployment.recovered', message: 'All components healthy' });
      else if (!isPlanned) events.push({ ...told, type: 'deployment.degraded' });
      else {
        const message = `The planned change of the driver of ${changing.join(', ')} interrupts it`;
        events.push({ ...told, type: 'deployment.interrupted', message });
      }
    }
    return { entries, events };
  }

  private mayTellReason(chainId: string): boolean {
    const last = this.reasonsTold.get(chainId);
    return !last || performance.now() - last.atMs >= REASON_MS || (this.losesAll(chainId) && !last.losesAll);
  }

  private losesAll(chainId: string): boolean {
    return this.dataPath.troublesOf(chainId).some(({ isTotal }) => isTotal);
  }

  private troubleOf(chainId: string): Trouble[] {
    const changed = new Set(driversUnderWay(this.state.desired).map((change) => change.switch));
    const fabric = this.fabric.troublesOf(chainId).map(({ what, rebuilt }) => ({
      what,
      isExpected: this.isStarting,
      ...(rebuilt !== null && changed.has(rebuilt) && { changes: rebuilt }),
    }));
    const nodes = Object.entries(this.state.desired.nodes);
    const ofPath = this.dataPath.troublesOf(chainId);
    const breaks = ofPath.map(({ what }) => ({ what, isExpected: false }));
    const downEnds = ofPath.flatMap(({ link }) => (link ? [link.a, link.b] : []));
    return [...fabric, ...breaks, ...nodes.flatMap(([node, spec]) => this.troubleAt(node, spec, chainId, downEnds))];
  }

  /** `downEnds`: of links that are told to be down already, with what that means for the chain. */
  private troubleAt(node: string, spec: NodeSpec, chainId: string, downEnds: readonly LinkEnd[]): Trouble[] {
    const instances = spec.instances.filter((instance) => instance.chain_id === chainId);
    const isOnWay = [...(spec.modules ?? []), ...spec.exits].some((each) => each.chain_id === chainId);
    if (instances.length === 0 && !isOnWay) return [];
    const isOff = !this.twin.enabled && this.fleet.originOf(node) === 'twin';
    if (isOff) return [{ what: `${node}: the twin is off`, isExpected: this.isStarting }];
    if (!this.fleet.isConnected(node))
      return [{ what: `${node}: its agent is not connected`, isExpected: this.isStarting }];
    const observed = this.fleet.observed(node);
    if (!observed) {
      const isExpected = performance.now() < (this.reportByMs.get(node) ?? Number.POSITIVE_INFINITY);
      return [{ what: `${node}: its agent has not reported yet`, isExpected }];
    }
    const lacking = lackingInstance(observed, spec);
    if (observed.state === 'failed' && lacking === null)
      return [{ what: `${node}: ${observed.error ?? 'failed'}`, isExpected: false }];
    if (observed.engine === 'failed') return [{ what: `${node}: its engine failed`, isExpected: false }];
    if (observed.engine === 'unresponsive') return [{ what: `${node}: its engine does not answer`, isExpected: false }];
    // Of a board at a switch its agent tells with the board's name.
    const isTold = (what: string) =>
      downEnds.some(
        (end) =>
          (end.node === node && what === linkDownTrouble(end.port)) ||
          what === linkDownTrouble(`${end.node} ${end.port}`),
      );
    const troubles = observed.troubles.flatMap((what) =>
      isTold(what) ? [] : { what: `${node}: ${what}`, isExpected: false },
    );
    const change = this.changeOf(node);
    const isMoving = change?.state === 'PROCESSING' || change?.state === 'ROLLING_BACK';
    const seen = new Map(observed.instances.map((instance) => [instance.id, instance]));
    const idle = instances.flatMap(({ id }): Trouble[] => {
      const { state, detail } = seen.get(id) ?? { state: 'pending', detail: null };
      if (state === 'running') return [];
      return [{ what: `${id}: ${detail ?? state}`, isExpected: isMoving && state !== 'failed' }];
    });
    // Its engine runs on, or has ended with it: only a new report tells.
    if (!this.fleet.hasConnection(node)) idle.push({ what: `${node}: its agent is connecting`, isExpected: true });
    const isReached = observed.state === 'converged' && observed.generation === spec.generation;
    if (troubles.length > 0 || idle.length > 0 || isReached) return [...troubles, ...idle];
    const isExpected = change !== null;
    if (lacking === null) return [{ what: `${node}: has not reached generation ${spec.generation}`, isExpected }];
    if (this.forms.has(node, chainId, spec, observed)) return [];
    const { state, detail } = seen.get(lacking)!;
    return [
      { what: `${node}: may not run this chain as it is to be, because of ${lacking}: ${detail ?? state}`, isExpected },
    ];
  }

  /** The operation that waits for the server to converge; null: none. */
  private changeOf(node: string): Operation | null {
    const { operation_id, waiting_for } = this.state.desired;
    const active = this.state.queue.find(({ operation }) => operation.id === operation_id);
    return active && waiting_for.includes(node) ? active.operation : null;
  }
}
