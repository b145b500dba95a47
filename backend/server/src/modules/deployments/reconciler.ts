import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { EventDraft, FabricSpec, Operation } from '@orrery/contract';
import { isFabricPhase, PHASES, type Phase, stepKindsOf } from '@orrery/planner';
import { CONFIG, type Config } from '../../platform/config.js';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { Decision, LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { ProblemError } from '../../platform/problem.js';
import { type FabricWait, type RuleChange, SwitchesAway, TIMEOUTS_OF_A_DRIVER } from '../../ports/fabric-driver.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { Convergence } from './convergence.js';
import { nextPhase, targetOf } from './desired-in.js';
import { type Accepted, type DesiredChange, DesiredStore, type Retreat } from './desired-store.js';
import { claimed, completion, ending, settingAside } from './endings.js';
import { awaiting, lagging, OPERATION_NOUN, resumed, stuck, withoutSteps, withSteps } from './operation-steps.js';
import { beginWait, type Stuck, type Wait, wayOf } from './phase-wait.js';
import { Replanner } from './replanner.js';
import { nextBack, retreating } from './retreat.js';
import { StateMigration } from './state-migration.js';
import { stateWayBack, wayBackId } from './state-way-back.js';
import { stepEvent } from './step-event.js';
import { driversUnderWay, SwitchDesire } from './switch-desire.js';
import { subjectsOf } from './versions.js';

const RETRY_MS = 1000;
const AT_ONCE = { again: 0 };
/** A failure reported this soon after a new specification may still refer to the old one. */
const FAILURE_GRACE_MS = 500;

/** Longer than the fabric's time-out plus the flow state copies before and after it. */
const DEADLINE_MS = 120_000;
const BACKOFF = { firstMs: 100, mostMs: 200 };
const OPERATIONS_KEY = 'operations';
const FABRIC_KEY = 'fabric';

/** Progress of a phase. */
type Outcome = 'reached' | { readonly again: number };

/**
 * Makes nodes and fabric follow the accepted plans, one operation after the other. Desired state is stored before it is
 * sent, so that a restart resumes where it stopped; a failing step is retried for as long as it is desired. An operation
 * that cannot go on makes way for others: its change is then taken back, by the same phases (decision 0030).
 */
@Injectable()
export class Reconciler implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private wait: Wait | null = null;
  /** Fabric spec that was applied before this server started; null once a newer one has been sent. */
  private fabricBefore: FabricSpec | null = null;
  /** Switches that the fabric waited for last, while drivers change; null: it has not come to that. */
  private waitedFor: ReadonlySet<string> | null = null;
  /** Ends the step that is being carried out forward. */
  private forward = new AbortController();

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(SwitchDesire) private readonly switches: SwitchDesire,
    @Inject(Convergence) private readonly nodes: Convergence,
    @Inject(StateMigration) private readonly migration: StateMigration,
    @Inject(Replanner) private readonly replanner: Replanner,
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
    this.state.onChange(() => {
      if (this.state.desired.retreat) this.forward.abort(new Error('the operation is being taken back'));
      this.loop.wake(OPERATIONS_KEY);
    });
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
    const { operation_id, retreat } = this.state.desired;
    const active = this.state.queue.find(({ operation }) => operation.id === operation_id);
    if (active && retreat) return this.goBack(active, retreat, run);
    if (active) return this.goForward(active, run);
    const next = this.runnable()[0];
    return next ? this.begin(next, run) : undefined;
  }

  /** Operations that wait for nothing that is away. */
  private runnable(): Accepted[] {
    return this.state.queue.filter(
      ({ operation: { set_aside } }) =>
        set_aside === null || set_aside.waiting_for.every((node) => this.nodes.isBack(node)),
    );
  }

  private async begin(head: Accepted, run: LoopRun): Promise<RunOutcome> {
    if (await run.step(this.replanner.planAgain(head))) return AT_ONCE;
    const { kind, by, id } = head.operation;
    const why = `accepted for ${by}`;
    run.decide({ subject: id, what: `${OPERATION_NOUN[kind]} begins`, why, inputs: this.inputs() });
    await this.enter('prepare', head);
    return AT_ONCE;
  }

  private async goForward(head: Accepted, run: LoopRun): Promise<RunOutcome> {
    const { phase } = this.state.desired;
    if (phase === 'settled') {
      await this.commitOf(head, () => completion(this.state, head, this.current(head), Date.now()));
      this.migration.forget(head.plan.id);
      return AT_ONCE;
    }
    const outcome = isFabricPhase(phase) ? await this.applyFabric(head, run) : await this.awaitNodes(head, run);
    if (outcome !== 'reached') return outcome;
    await this.enter(phaseAfter(phase), head);
    return AT_ONCE;
  }

  /** Enters the first phase, starting at `wanted`, that changes something. */
  private enter(wanted: Phase, head: Accepted): Promise<void> {
    return this.commitOf(head, () => {
      const { phase, desired } = nextPhase(
        this.state.desired,
        wanted,
        targetOf(head.operation.id, head.plan, this.switches.changesOf(head.plan)),
        this.exists,
        Date.now(),
      );
      const now = Date.now();
      let operation = resumed(this.current(head), now);
      for (const over of PHASES.slice(0, PHASES.indexOf(phase)))
        if (over !== 'settled') operation = withSteps(operation, stepKindsOf(over), 'done', now);
      if (phase !== 'settled') operation = withSteps(operation, stepKindsOf(phase), 'running', now);
      const deployments = wanted === 'prepare' ? claimed(this.state, operation, now) : undefined;
      return { desired, deployments, operations: [operation], plan: head.plan, events: [stepEvent(operation, phase)] };
    });
  }

  /** Commits a change of an operation that goes forward, unless it has been ended or is taken back meanwhile. */
  private commitOf(head: Accepted, change: () => DesiredChange | null): Promise<void> {
    return this.state.commit(() => {
      const now = this.state.queue.find(({ operation }) => operation.id === head.operation.id);
      const { operation_id, retreat } = this.state.desired;
      const isBack = operation_id === head.operation.id && retreat !== null;
      return now?.plan.id === head.plan.id && !isBack ? change() : null;
    });
  }

  private tellNodes(): void {
    for (const [node, spec] of Object.entries(this.state.desired.nodes)) this.fleet.setDesired(node, spec);
  }

  private async awaitNodes(head: Accepted, run: LoopRun): Promise<Outcome> {
    const waiting = this.nodes.waiting();
    if (waiting.length === 0) return 'reached';
    const nowMs = performance.now();
    const wait = this.waitOf(head, nowMs);
    const failed = this.failures(waiting, wait, nowMs);
    const away = waiting.filter((node) => this.nodes.isAway(node));
    const loaded = waiting.map((node) => this.nodes.loadedBytes(node)).join();
    if (loaded !== wait.progress && !wait.reported) wait.deadlineMs = nowMs + this.config.timing.stepTimeoutMs;
    wait.progress = loaded;
    const why = (failed.length > 0 ? failed : waiting.map((node) => this.nodes.lag(node))).join('; ');
    const isOverdue = failed.length > 0 || nowMs >= wait.deadlineMs;
    if (isOverdue) await this.report(head, why, run, wait);
    else await this.nameAway(head, away);
    const sinceMs = nowMs - wait.beganMs;
    const stuckBy: Stuck = { away: away.length === waiting.length ? away : [], why, sinceMs };
    if (isOverdue || wait.reported || stuckBy.away.length > 0) {
      const way = await this.makeWay(head, stuckBy, run);
      if (way) return way;
    }
    return { again: Math.min(Math.max(wait.deadlineMs - nowMs, 1), FAILURE_GRACE_MS) };
  }

  private failures(waiting: readonly string[], { beganMs }: Wait, nowMs: number): string[] {
    return nowMs - beganMs >= FAILURE_GRACE_MS ? waiting.flatMap((node) => this.nodes.failureOf(node) ?? []) : [];
  }

  /** Restarts with each phase, when the operation is retried, and with each start of the server. */
  private waitOf(head: Accepted, nowMs: number): Wait {
    const { operation_id, phase, generation, retreat } = this.state.desired;
    const of = `${operation_id} ${phase} ${generation} ${retreat !== null}`;
    const isRetried = this.wait?.reported && this.current(head).state === 'PROCESSING';
    if (this.wait?.of !== of || isRetried) this.wait = beginWait(of, nowMs, this.timeoutMs);
    return this.wait;
  }

  private get timeoutMs(): number {
    const { stepTimeoutMs } = this.config.timing;
    return driversUnderWay(this.state.desired).length > 0 ? TIMEOUTS_OF_A_DRIVER * stepTimeoutMs : stepTimeoutMs;
  }

  private async applyFabric(head: Accepted, run: LoopRun): Promise<Outcome> {
    const wait = this.waitOf(head, performance.now());
    this.waitedFor = null;
    this.forward = new AbortController();
    const signal = AbortSignal.any([run.signal, this.forward.signal]);
    try {
      await this.nameAway(
        head,
        wait.switchesAway.filter((node) => this.nodes.isAway(node)),
      );
      const steers = this.state.desired.phase === 'steer';
      if (steers) await run.step(this.migration.copy(head.plan, 'before', signal));
      await run.step(this.tellSwitches(head, { signal, for: 'all' }));
      if (steers) await run.step(this.migration.copy(head.plan, 'after', signal));
      return 'reached';
    } catch (error) {
      if (run.signal.aborted) throw error;
      if (this.forward.signal.aborted) return AT_ONCE;
      if (this.lateDrivers().length > 0) return this.awaitDrivers(head, error as Error, run, wait);
      const why = (error as Error).message;
      const away = error instanceof SwitchesAway ? error.switches : [];
      const nowMs = performance.now();
      wait.switchesAway = away;
      if (away.length === 0 || wait.reported || nowMs >= wait.deadlineMs) await this.report(head, why, run, wait);
      else await this.nameAway(head, away);
      const way = await this.makeWay(head, { away, why, sinceMs: nowMs - wait.beganMs }, run);
      return way ?? { again: Math.min(Math.max(wait.deadlineMs - nowMs, 1), RETRY_MS) };
    }
  }

  private tellSwitches(head: Accepted, wait: Pick<FabricWait, 'signal' | 'for'>): Promise<void> {
    const changesDrivers = driversUnderWay(this.state.desired).length > 0;
    const told = (lags: ReadonlyMap<string, string>) => {
      this.waitedFor = new Set(lags.keys());
      return this.commitOf(head, () => {
        const operation = lagging(this.current(head), lags, Date.now());
        return operation && { operations: [operation] };
      });
    };
    const telling = changesDrivers ? { ...wait, lagging: told } : wait;
    return this.switches.apply(this.changeOf(head), telling, head.operation.by);
  }

  /** Switches that are in the way of the change of their own drivers; where only others are, it waits like any operation. */
  private lateDrivers() {
    const { waitedFor } = this;
    const changes = driversUnderWay(this.state.desired);
    return waitedFor === null ? changes : changes.filter((change) => waitedFor.has(change.switch));
  }

  /** Chains lose packets while a switch does not come up with its new driver: it gets the former one back in time. */
  private async awaitDrivers(head: Accepted, error: Error, run: LoopRun, wait: Wait): Promise<Outcome> {
    const isRefused = error instanceof ProblemError && error.status < 500;
    if (!isRefused && performance.now() < wait.deadlineMs) return { again: RETRY_MS };
    const wanted = this.lateDrivers().map((change) => `${change.switch} does not run ${change.to}`);
    const limit = isRefused ? '' : ` within ${this.timeoutMs / 1000} s`;
    const why = `${wanted.join(', ')}${limit}: ${error.message}`;
    run.decide({ subject: head.operation.id, what: 'Give back the former driver', why, inputs: this.inputs() });
    const retreat: Retreat = { ends: 'ROLLED_BACK', why, waiting_for: [] };
    await this.commitOf(head, () => retreating(this.state, this.exists, this.current(head), retreat, Date.now()));
    return AT_ONCE;
  }

  /** The same in every phase, forward and back. */
  private changeOf(head: Accepted): RuleChange {
    return { before: this.state.planInForce?.fabric.rules ?? [], after: head.plan.fabric.rules };
  }

  /** Lets other operations go on, where some can. Null: the operation keeps waiting. */
  private async makeWay(head: Accepted, why: Stuck, run: LoopRun): Promise<Outcome | null> {
    const { id } = head.operation;
    const { phase } = this.state.desired;
    const chains = subjectsOf(head.operation);
    const later = this.state.coming.slice(this.state.coming.findIndex(({ operation }) => operation.id === id) + 1);
    const supersede = later.some(({ operation }) => [...subjectsOf(operation)].some((chain) => chains.has(chain)));
    const waiting = this.runnable().some(({ operation }) => operation.id !== id);
    const way = wayOf(phase, why, { waiting, supersede }, this.config.timing.stepTimeoutMs);
    if (way === 'wait' || phase === 'settled') return null;
    run.decide({ subject: id, what: 'Make way for another operation', why: why.why, inputs: this.inputs() });
    if (way === 'leave-out') {
      const detail = `${why.why} (told when it is back)`;
      await this.commitOf(head, () => {
        return { operations: [withoutSteps(this.current(head), stepKindsOf(phase), detail, Date.now())] };
      });
      return 'reached';
    }
    const detail = `${why.why} (${supersede ? 'superseded by' : 'made way for'} another operation)`;
    const retreat: Retreat = { ends: way, why: detail, waiting_for: why.away };
    await this.commitOf(head, () => retreating(this.state, this.exists, this.current(head), retreat, Date.now()));
    return AT_ONCE;
  }

  /** Tells in its running steps which agents it waits for, until the wait is reported. */
  private nameAway(head: Accepted, away: readonly string[]): Promise<void> {
    return this.commitOf(head, () => {
      const before = this.current(head);
      const operation = before.state === 'PROCESSING' ? awaiting(before, away, Date.now()) : null;
      return operation && { operations: [operation] };
    });
  }

  /** Sets the operation to FAILED_TEMP, or updates the reason. */
  private async report(head: Accepted, detail: string, run: LoopRun, wait: Wait): Promise<void> {
    run.decide({ subject: head.operation.id, what: 'Wait', why: detail, inputs: this.inputs() });
    await this.commitOf(head, () => {
      const before = this.current(head);
      if (before.state === 'FAILED_TEMP' && before.error?.detail === detail) return null;
      const operation = stuck(before, detail, Date.now());
      const event: EventDraft = {
        type: 'operation.waiting',
        subject: operation.id,
        message: `The operation waits: ${detail}`,
        data: { chain_id: operation.subject },
      };
      return { operations: [operation], events: [event] };
    });
    wait.reported = true;
    wait.deadlineMs = Number.POSITIVE_INFINITY;
  }

  private async goBack(head: Accepted, retreat: Retreat, run: LoopRun): Promise<RunOutcome> {
    const { phase } = this.state.desired;
    if (phase === 'settled') {
      await this.endRetreat(head, retreat);
      for (const id of [head.plan.id, wayBackId(head.plan)]) this.migration.forget(id);
      return AT_ONCE;
    }
    const outcome = isFabricPhase(phase) ? await this.fabricBack(head, run) : this.nodesBack(head);
    if (outcome !== 'reached') return outcome;
    await this.state.commit(() => {
      const { desired } = this.state;
      if (desired.operation_id !== head.operation.id || desired.phase !== phase) return null;
      return { desired: nextBack(this.state, phaseAfter(phase), this.exists, Date.now()) };
    });
    return AT_ONCE;
  }

  /** What is away or fails is not waited for: it is told when it is back. */
  private nodesBack(head: Accepted): Outcome {
    const nowMs = performance.now();
    const wait = this.waitOf(head, nowMs);
    const waiting = this.nodes.waiting().filter((node) => !this.nodes.isAway(node));
    const failed = this.failures(waiting, wait, nowMs);
    if (waiting.length <= failed.length || nowMs >= wait.deadlineMs) return 'reached';
    return { again: Math.min(Math.max(wait.deadlineMs - nowMs, 1), FAILURE_GRACE_MS) };
  }

  private async fabricBack(head: Accepted, run: LoopRun): Promise<Outcome> {
    const wait = this.waitOf(head, performance.now());
    const { phase } = this.state.desired;
    const back = phase === 'steer' ? stateWayBack(head.plan, this.state.planInForce) : null;
    try {
      if (back) await run.step(this.migration.copy(back, 'before', run.signal));
      await run.step(this.tellSwitches(head, { signal: run.signal, for: 'able' }));
      if (back) await run.step(this.migration.copy(back, 'after', run.signal));
      return 'reached';
    } catch (error) {
      if (run.signal.aborted) throw error;
      const why = (error as Error).message;
      run.decide({ subject: head.operation.id, what: 'Switches are told later', why, inputs: this.inputs() });
      if (performance.now() < wait.deadlineMs) return { again: RETRY_MS };
      await this.noteLeft(why);
      return 'reached';
    }
  }

  /** A switch that has not got its former driver back is told of where the operation ends. */
  private noteLeft(why: string): Promise<void> {
    return this.state.commit(() => {
      const { desired } = this.state;
      const { retreat } = desired;
      if (!retreat || driversUnderWay(desired).length === 0) return null;
      return { desired: { ...desired, retreat: { ...retreat, why: `${retreat.why}; not taken back yet: ${why}` } } };
    });
  }

  private endRetreat(head: Accepted, { ends, why, waiting_for }: Retreat): Promise<void> {
    return this.state.commit(() => {
      const { operation_id, retreat } = this.state.desired;
      if (operation_id !== head.operation.id || retreat === null) return null;
      const now = Date.now();
      const operation = this.current(head);
      if (ends === 'set-aside') return settingAside(this.state, operation, { why, waiting_for }, now);
      return ending(this.state, operation, { state: ends, why }, now);
    });
  }

  /** After a restart the fabric rules may have been lost with the twin. */
  private async restoreFabric(run: LoopRun): Promise<RunOutcome> {
    const fabric = this.fabricBefore;
    if (!fabric || fabric.generation === 0 || this.state.desired.fabric !== fabric) return { again: 'done' };
    try {
      await run.step(this.switches.restore(fabric, run.signal));
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

  private readonly exists = (place: string): boolean => this.fleet.hasPlace(place);
}

function phaseAfter(phase: Phase): Phase {
  return PHASES[PHASES.indexOf(phase) + 1]!;
}
