import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Deployment, EventDraft, FabricSpec, NodeSpec, Operation } from '@orrery/contract';
import {
  fabricIn,
  isEmptyNode,
  isFabricPhase,
  nodesIn,
  PHASES,
  type Phase,
  STEP_KIND,
} from '@orrery/planner/transition/phases';
import { CONFIG, type Config } from '../../platform/config.js';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { Decision, LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { FABRIC, type FabricDriver } from '../../ports/fabric-driver.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { type Accepted, type Desired, type DesiredChange, DesiredStore } from './desired-store.js';
import { ended, OPERATION_NOUN, resumed, stuck, withSteps } from './operation-steps.js';
import { StateMigration } from './state-migration.js';

const RETRY_MS = 1000;
const AT_ONCE: RunOutcome = { again: 0 };
/** A failure reported this soon after a new specification may still refer to the old one. */
const FAILURE_GRACE_MS = 500;

/** Longer than the fabric's time-out plus the flow state copies before and after it. */
const DEADLINE_MS = 120_000;
const BACKOFF = { firstMs: 100, mostMs: 200 };
const OPERATIONS_KEY = 'operations';
const FABRIC_KEY = 'fabric';

/** Progress of a phase. */
type Outcome = 'reached' | 'superseded' | { readonly again: number };

/** Waiting for nodes to converge in a phase. */
interface Wait {
  readonly desired: string;
  readonly beganMs: number;
  deadlineMs: number;
  progress: string;
}

/**
 * Makes nodes and fabric follow the accepted plans, one operation after the other. Desired state is stored before it is
 * sent, so that a restart resumes where it stopped; a failing step is retried for as long as it is desired.
 */
@Injectable()
export class Reconciler implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private wait: Wait | null = null;
  /** Fabric spec that was applied before this server started; null once a newer one has been sent. */
  private fabricBefore: FabricSpec | null = null;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(FABRIC) private readonly fabric: FabricDriver,
    @Inject(TWIN) private readonly twin: TwinView,
    @Inject(StateMigration) private readonly migration: StateMigration,
  ) {
    this.loop = loops.add({
      id: 'deployment',
      title: 'Deployment',
      purpose: 'Makes servers and switches follow the accepted plans, one operation after the other.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      run: (run) => (run.key === FABRIC_KEY ? this.restoreFabric(run) : this.follow(run)),
    });
  }

  onApplicationBootstrap(): void {
    this.tellNodes();
    this.fleet.onChange(() => this.loop.wake(OPERATIONS_KEY));
    this.state.onChange(() => this.loop.wake(OPERATIONS_KEY));
    this.fabricBefore = this.state.desired.fabric;
    this.loop.wake(FABRIC_KEY);
    this.loop.wake(OPERATIONS_KEY);
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  private async follow(run: LoopRun): Promise<RunOutcome | undefined> {
    await this.state.certain();
    this.tellNodes();
    const head = this.state.queue[0];
    return head ? this.advance(head, run) : undefined;
  }

  private async advance(head: Accepted, run: LoopRun): Promise<RunOutcome> {
    const { desired } = this.state;
    if (desired.operation_id !== head.operation.id) {
      const { kind, by, id } = head.operation;
      run.decide({
        subject: id,
        what: `${OPERATION_NOUN[kind]} begins`,
        why: `accepted for ${by}`,
        inputs: this.inputs(),
      });
      await this.enter('prepare', head);
      return AT_ONCE;
    }
    const { phase } = desired;
    if (phase === 'settled') {
      await this.complete(head);
      return AT_ONCE;
    }
    const outcome = isFabricPhase(phase) ? await this.applyFabric(head, run) : await this.awaitNodes(head, run);
    if (outcome === 'reached') await this.enter(PHASES[PHASES.indexOf(phase) + 1]!, head);
    else if (outcome === 'superseded') await this.giveUp(head);
    else return outcome;
    return AT_ONCE;
  }

  /** Enters the first phase, starting at `wanted`, that changes something. */
  private async enter(wanted: Phase, head: Accepted): Promise<void> {
    await this.state.commit(() => {
      const before = this.state.desired;
      const index = PHASES.slice(PHASES.indexOf(wanted)).findIndex((phase) => this.changes(before, phase, head));
      const phase = PHASES[PHASES.indexOf(wanted) + index]!;
      const desired = this.desiredIn(before, phase, head);
      const now = Date.now();
      let operation = resumed(this.current(head), now);
      for (const over of PHASES.slice(0, PHASES.indexOf(phase)))
        if (over !== 'settled') operation = withSteps(operation, STEP_KIND[over], 'done', now);
      if (phase !== 'settled') operation = withSteps(operation, STEP_KIND[phase], 'running', now);
      return { desired, operation, plan: head.plan, events: [stepEvent(operation, phase)] };
    });
  }

  private changes(before: Desired, phase: Phase, head: Accepted): boolean {
    if (phase === 'settled') return true;
    const after = this.desiredIn(before, phase, head);
    if (isFabricPhase(phase)) return after.fabric !== before.fabric;
    return after.waiting_for.length > 0;
  }

  private desiredIn(before: Desired, phase: Phase, head: Accepted): Desired {
    return desiredIn(before, phase, head, (server) => this.fleet.status(server) !== undefined);
  }

  private tellNodes(): void {
    for (const [node, spec] of Object.entries(this.state.desired.nodes)) this.fleet.setDesired(node, spec);
  }

  private async awaitNodes(head: Accepted, run: LoopRun): Promise<Outcome> {
    const waiting = this.state.desired.waiting_for.filter((node) => this.exists(node) && !this.hasReached(node));
    if (waiting.length === 0) return 'reached';
    const operation = this.current(head);
    if (operation.state === 'FAILED_TEMP' && this.state.queue.length > 1) return 'superseded';
    const nowMs = performance.now();
    const wait = this.waitOf(nowMs);
    const failed =
      nowMs - wait.beganMs >= FAILURE_GRACE_MS ? waiting.flatMap((node) => this.failureOf(node) ?? []) : [];
    const loaded = waiting.map((node) => this.loadedBytes(node)).join();
    if (loaded !== wait.progress) wait.deadlineMs = nowMs + this.config.timing.stepTimeoutMs;
    wait.progress = loaded;
    if (failed.length > 0 || nowMs >= wait.deadlineMs) {
      const detail = (failed.length > 0 ? failed : waiting.map((node) => this.lag(node))).join('; ');
      await this.report(head, detail, run);
      wait.deadlineMs = Number.POSITIVE_INFINITY;
    }
    return { again: Math.min(Math.max(wait.deadlineMs - nowMs, 1), FAILURE_GRACE_MS) };
  }

  /** Restarts with each phase and with each start of the server. */
  private waitOf(nowMs: number): Wait {
    const { operation_id, phase, generation } = this.state.desired;
    const desired = `${operation_id} ${phase} ${generation}`;
    if (this.wait?.desired !== desired)
      this.wait = { desired, beganMs: nowMs, deadlineMs: nowMs + this.config.timing.stepTimeoutMs, progress: '' };
    return this.wait;
  }

  private async applyFabric(head: Accepted, run: LoopRun): Promise<Outcome> {
    try {
      const steers = this.state.desired.phase === 'steer';
      if (steers) await run.step(this.migration.copy(head.plan, 'before', run.signal));
      await run.step(this.fabric.apply(this.state.desired.fabric, run.signal));
      if (steers) await run.step(this.migration.copy(head.plan, 'after', run.signal));
      return 'reached';
    } catch (error) {
      if (run.signal.aborted) throw error;
      await this.report(head, `fabric: ${(error as Error).message}`, run);
      return this.state.queue.length > 1 ? 'superseded' : { again: RETRY_MS };
    }
  }

  /** Sets the operation to FAILED_TEMP, or updates the reason. */
  private report(head: Accepted, detail: string, run: LoopRun): Promise<void> {
    run.decide({ subject: head.operation.id, what: 'Wait', why: detail, inputs: this.inputs() });
    return this.state.commit(() => {
      const before = this.current(head);
      if (before.state === 'FAILED_TEMP' && before.error?.detail === detail) return null;
      const operation = stuck(before, detail, Date.now());
      const event: EventDraft = {
        type: 'operation.waiting',
        subject: operation.id,
        message: `The operation waits: ${detail}`,
        data: { chain_id: operation.subject },
      };
      return { operation, events: [event] };
    });
  }

  private async complete(head: Accepted): Promise<void> {
    await this.state.commit(() => {
      const now = Date.now();
      const operation = ended(this.current(head), 'COMPLETED', null, now);
      const { entries, events } = this.settledDeployments(head, operation, now);
      const message = `${OPERATION_NOUN[operation.kind]} took ${now - operation.started_ms} ms`;
      events.push({
        type: 'operation.completed',
        subject: operation.id,
        message,
        actor: operation.by,
        data: { chain_id: operation.subject, plan_id: operation.plan_id },
      });
      return { operation, over: operation.id, deployments: entries, events };
    });
    this.migration.forget(head.plan.id);
  }

  /** Settles the entries of this operation and of superseded ones; operations that still wait keep theirs. */
  private settledDeployments(head: Accepted, operation: Operation, now: number) {
    const entries = new Map<string, Deployment | null>();
    const events: EventDraft[] = [];
    const planned = new Set(head.plan.chains.map(({ chain_id }) => chain_id));
    const waiting = new Set(this.state.queue.map((accepted) => accepted.operation.id));
    waiting.delete(operation.id);
    for (const deployment of this.state.deployments()) {
      const id = deployment.chain_id;
      if (waiting.has(deployment.operation_id)) continue;
      if (!planned.has(id)) {
        entries.set(id, null);
        events.push({
          type: 'deployment.removed',
          subject: id,
          message: `${id} was taken down`,
          actor: operation.by,
          data: { plan_id: head.plan.id },
        });
      } else if (deployment.state === 'deploying' || deployment.state === 'undeploying') {
        entries.set(id, { ...deployment, plan_id: head.plan.id, state: 'running', since_ms: now });
        events.push({
          type: 'deployment.running',
          subject: id,
          message: `Version ${deployment.version} runs`,
          actor: operation.by,
          data: { version: deployment.version, plan_id: head.plan.id },
        });
      } else {
        entries.set(id, { ...deployment, plan_id: head.plan.id });
      }
    }
    return { entries, events };
  }

  /** A newer operation supersedes one that cannot complete. */
  private async giveUp(head: Accepted): Promise<void> {
    await this.state.commit((): DesiredChange => {
      const before = this.current(head);
      const detail = `${before.error?.detail ?? 'not finished'} (superseded by another operation)`;
      const operation = ended(before, 'FAILED', detail, Date.now());
      const event: EventDraft = {
        type: 'operation.failed',
        subject: operation.id,
        message: detail,
        data: { chain_id: operation.subject },
      };
      return { operation, over: operation.id, events: [event] };
    });
    this.migration.forget(head.plan.id);
  }

  /** After a restart the fabric rules may have been lost with the twin. */
  private async restoreFabric(run: LoopRun): Promise<RunOutcome> {
    const fabric = this.fabricBefore;
    if (!fabric || fabric.generation === 0 || this.state.desired.fabric !== fabric) return { again: 'done' };
    try {
      await run.step(this.fabric.apply(fabric, run.signal));
      return { again: 'done' };
    } catch (error) {
      if (run.signal.aborted) throw error;
      run.decide({
        subject: FABRIC_KEY,
        what: 'Rules are restored later',
        why: (error as Error).message,
        inputs: this.inputs(),
      });
      return { again: RETRY_MS };
    }
  }

  private inputs(): Decision['inputs'] {
    const { phase, generation } = this.state.desired;
    return { phase, generation, queued: this.state.queue.length };
  }

  private current(head: Accepted): Operation {
    return this.state.operation(head.operation.id) ?? head.operation;
  }

  /** Emulated servers do not exist while the twin is off. */
  private exists(node: string): boolean {
    if (!this.fleet.status(node)) return false;
    return this.twin.enabled || this.fleet.originOf(node) !== 'twin';
  }

  private hasReached(node: string): boolean {
    const observed = this.fleet.observed(node);
    const wanted = this.state.desired.nodes[node]?.generation;
    return this.fleet.isConnected(node) && observed?.generation === wanted && observed?.state === 'converged';
  }

  private failureOf(node: string): string | null {
    const observed = this.fleet.observed(node);
    return this.fleet.isConnected(node) && observed?.state === 'failed'
      ? `${node}: ${observed.error ?? 'failed'}`
      : null;
  }

  /** Progress of a bitstream load, which takes seconds; progress extends the time-out. */
  private loadedBytes(node: string): number {
    if (!this.fleet.isConnected(node)) return 0;
    const slots = this.fleet.observed(node)?.boards.flatMap((board) => board.slots) ?? [];
    return slots.reduce((sum, { load }) => sum + (load?.bytes ?? 0), 0);
  }

  private lag(node: string): string {
    if (!this.fleet.isConnected(node)) return `${node}: its agent is not connected`;
    const observed = this.fleet.observed(node);
    return `${node}: is at generation ${observed?.generation ?? 0} of ${this.state.desired.nodes[node]?.generation}`;
  }
}

/** Desired state in a phase, derived from the previous desired state. */
function desiredIn(
  before: Desired,
  phase: Phase,
  { plan, operation }: Accepted,
  exists: (server: string) => boolean,
): Desired {
  const generation = before.generation + 1;
  const base: Desired = {
    ...before,
    operation_id: operation.id,
    plan_id: plan.id,
    phase,
    generation,
    waiting_for: [],
  };
  if (isFabricPhase(phase)) {
    const fabric = fabricIn(phase, before.fabric, plan.fabric, exists);
    return { ...base, fabric: numbered(before.fabric, fabric, generation) };
  }
  if (phase === 'settled') return { ...base, generation: before.generation };
  const nodes = Object.fromEntries(
    Object.entries(nodesIn(phase, before.nodes, plan.nodes, new Set(plan.abandoned))).map(([name, spec]) => [
      name,
      numbered(before.nodes[name], spec, generation),
    ]),
  );
  const waiting = Object.entries(nodes).filter(([name, spec]) => {
    const old = before.nodes[name];
    return spec !== old && !(isEmptyNode(spec) && (!old || isEmptyNode(old)));
  });
  return { ...base, nodes, waiting_for: waiting.map(([name]) => name) };
}

/** Changed specs get the generation; the others keep theirs. */
function numbered<S extends NodeSpec | FabricSpec>(before: S | undefined, next: S, generation: number): S {
  return next === before ? next : { ...next, generation };
}

function stepEvent(operation: Operation, phase: Phase): EventDraft {
  const titles: Record<Phase, string> = {
    prepare: 'New instances start',
    extend: 'Every switch forwards to them',
    steer: 'Traffic is steered to them',
    switch: 'Instances that stay are switched over',
    clean: 'Instances that are no longer needed end',
    settle: 'Old hops are removed from the switches',
    settled: 'Everything matches the plan',
  };
  return {
    type: 'operation.step',
    subject: operation.id,
    message: titles[phase],
    actor: operation.by,
    data: { phase, chain_id: operation.subject },
  };
}
