import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type Operation, type PlacementAdvice, type Plan, PlanRequest } from '@orrery/contract';
import {
  decideUpkeep,
  driftsOf,
  type MeasuredLoad,
  type Moved,
  type NfDrift,
  NO_UPKEEP_MEMORY,
  planRefusal,
  type UpkeepDecision,
  type UpkeepMemory,
} from '@orrery/planner';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { ProblemError } from '../../platform/problem.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { EXCLUSIONS, type Exclusions } from '../../ports/exclusions.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { PLANS, type PlacementComparison, type PlanStore } from '../../ports/plan-store.js';
import { REQUEST_BOUNDS, type RequestBounds } from '../../ports/request-bounds.js';
import { Applier } from './applier.js';
import { withBounds } from './bounds.js';
import { Hindrance } from './hindrance.js';
import { sameGain, sameLoads, UpkeepLoads } from './loads.js';
import { placementOf } from './placement.js';
import { type Proposal, UpkeepRecords } from './records.js';

const BY = 'upkeep';
const BACKOFF = { firstMs: 5000, mostMs: 300_000 };
const DEADLINE_MS = 60_000;
/** How often it looks while something is being applied. */
const LOOK_MS = 1000;
/** Within which changes are counted. */
const WINDOW_MS = 3_600_000;
const FIRST_RETRY_MS = 60_000;
const MOST_LISTED = 200;

/** What was compared last, and for what. */
interface Compared {
  readonly of: string;
  readonly catalogue: readonly unknown[];
  readonly loads: readonly MeasuredLoad[];
  readonly found: PlacementComparison;
}

/** Looks whether what runs is placed well for what is measured, advises what is better, and applies it where the policy says so. */
@Injectable()
export class UpkeepLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private memory: UpkeepMemory = NO_UPKEEP_MEMORY;
  /** Of which the memory is; null: it remembers nothing. */
  private placement: string | null = null;
  private compared: Compared | null = null;
  private drifts: readonly NfDrift[] = [];
  private comparedMs: number | null = null;
  private why = 'Nothing was compared yet.';
  /** When changes were made by this loop, and until when none is made after a refusal; monotonic. */
  private changesMs: number[] = [];
  private failures = 0;
  private notBeforeMs = 0;
  private toldHindrance: string | null = null;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(UpkeepRecords) private readonly records: UpkeepRecords,
    @Inject(UpkeepLoads) private readonly loads: UpkeepLoads,
    @Inject(Hindrance) private readonly hindrance: Hindrance,
    @Inject(Applier) private readonly applier: Applier,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
    @Inject(EXCLUSIONS) private readonly exclusions: Exclusions,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(REQUEST_BOUNDS) private readonly bounds: RequestBounds,
  ) {
    this.loop = loops.add({
      id: 'upkeep',
      title: 'Upkeep of placements',
      purpose: 'Compares what runs with the best plan for what is measured, and advises or applies it.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      run: (run) => this.look(run),
      onPause: () => {
        this.memory = NO_UPKEEP_MEMORY;
      },
    });
  }

  onApplicationBootstrap(): void {
    for (const source of [this.records, this.view, this.infrastructure]) source.onChange(() => this.loop.wake());
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  advice(): PlacementAdvice {
    const { proposal, applying, refusal } = this.records.advice;
    const state = applying ? 'applying' : proposal ? 'advise' : this.comparedMs === null ? 'none' : 'keep';
    return {
      state,
      why: this.records.policy.enabled ? this.why : 'Upkeep is switched off.',
      revision: this.records.adviceRevision,
      compared_ms: this.comparedMs,
      drift: this.drifts.slice(0, MOST_LISTED),
      drift_omitted: Math.max(0, this.drifts.length - MOST_LISTED),
      gain: proposal?.gain ?? null,
      disruption: proposal?.disruption ?? null,
      plan_id: proposal?.plan_id ?? null,
      operation_id: applying?.operation_id ?? null,
      refusal,
      dismissed_until_ms: this.records.dismissedUntilMs,
    };
  }

  /** Throws 409 and 412 as `Applier`. */
  async apply(by: string, ifMatch: string | null): Promise<Operation> {
    const operation = await this.applier.apply(by, ifMatch);
    this.loop.wake();
    return operation;
  }

  private async look(run: LoopRun): Promise<RunOutcome | undefined> {
    await run.step(this.records.keepDismissal());
    const ended = await run.step(this.applier.settle());
    if (ended === 'under-way') return { again: LOOK_MS };
    if (ended === 'applied') this.failures = 0;
    if (ended === 'refused') this.retryLater(performance.now());
    const { policy } = this.records;
    const plan = this.view.comingPlan;
    if (!policy.enabled || !plan) {
      this.forget(policy.enabled ? 'Nothing runs.' : 'Upkeep is switched off.');
      await run.step(this.records.propose(null));
      return this.records.keepMs === null ? undefined : { again: this.records.keepMs };
    }
    const lookMs = 1000 * policy.look_s;
    const again = Math.min(lookMs, this.records.keepMs ?? Number.POSITIVE_INFINITY);
    // What is under way decides first what runs; afterwards the view tells.
    if (this.hindrance.isChanging) return { again };
    const placement = placementOf(plan);
    await this.withdraw(run, placement);
    const compared = await run.step(this.compare(plan, lookMs, run.signal));
    if (!compared) return { again };
    const found = withBounds(compared, this.bounds);
    const nowMs = performance.now();
    const decision = decideUpkeep(policy, found, this.memory, nowMs);
    this.memory = decision.memory;
    this.why = decision.why;
    await this.follow(run, plan, found, decision);
    const due = decision.dueMs === null ? again : Math.max(1, decision.dueMs - nowMs);
    return { again: Math.min(again, due) };
  }

  /** An advice is for the placement that ran when it was made, and so is the time for which another has been better. */
  private async withdraw({ step }: LoopRun, placement: string): Promise<void> {
    const { proposal } = this.records.advice;
    if (proposal && proposal.placement !== placement) await step(this.records.propose(null));
    if (this.placement !== placement) this.memory = NO_UPKEEP_MEMORY;
    this.placement = placement;
  }

  /** Null: too little is measured, or the planner has no time. Nothing is searched where nothing has changed since the last search. */
  private async compare(plan: Plan, lookMs: number, signal: AbortSignal): Promise<PlacementComparison | null> {
    const { infrastructure, revision } = this.infrastructure.current;
    const loads = await this.loads.measuredBefore(plan, 2 * lookMs, Date.now());
    const hz = new Map(infrastructure.servers.map(({ id, ghz }) => [id, ghz * 1e9]));
    this.drifts = driftsOf(plan, loads, hz);
    if (loads.length === 0) {
      this.forget('Nothing is measured of what runs.');
      return null;
    }
    const { servers, boards, lost_servers } = this.exclusions;
    const { max_moved } = this.records.policy;
    const of = JSON.stringify([
      plan.id,
      revision,
      servers,
      boards,
      lost_servers,
      max_moved,
      this.bounds.missedWith([]),
    ]);
    const catalogue = this.catalogue.all();
    const known = this.compared;
    this.comparedMs = Date.now();
    if (known?.of === of && known.catalogue === catalogue && sameLoads(known.loads, loads)) return known.found;
    const held = this.records.advice.proposal?.moves ?? known?.found.better?.moves ?? [];
    const limits = { loads, max_moved, held, ways: this.bounds.ways() };
    const found = await this.plans.compare(limits, plan, this.view.comingDrivers, signal).catch(notCompared);
    // The loop has gone on without it.
    if (signal.aborted) return null;
    if (typeof found === 'string') {
      this.forget(found, this.drifts);
      return null;
    }
    this.compared = { of, catalogue, loads, found };
    return found;
  }

  private async follow(run: LoopRun, plan: Plan, found: PlacementComparison, decision: UpkeepDecision): Promise<void> {
    const { policy, advice } = this.records;
    const isDismissed = this.records.dismissedUntilMs !== null;
    const silence =
      policy.mode === 'never' ? 'the policy is to tell drift only' : isDismissed ? 'it was dismissed' : null;
    if (decision.verdict === 'keep' || silence !== null || !found.better) {
      if (decision.verdict === 'advise') this.why = `${decision.why}. Not advised: ${silence}.`;
      await run.step(this.records.propose(null));
      return;
    }
    const { proposal } = advice;
    const isKnown = proposal !== null && JSON.stringify(proposal.moves) === JSON.stringify(found.better.moves);
    const isOfNow = isKnown && !this.records.isOld && sameGain(proposal.gain, decision.gain!);
    if (!isOfNow && !(await this.propose(run, plan, found, decision, isKnown))) return;
    if (policy.mode === 'auto') await this.applyBySelf(run, plan, found.better.moved);
  }

  /** Whether there is a plan that can be shown. `isKnown`: the same moves were advised before, with other figures. */
  private async propose(
    { step, decide }: LoopRun,
    base: Plan,
    { better }: PlacementComparison,
    { gain, why }: UpkeepDecision,
    isKnown: boolean,
  ): Promise<boolean> {
    const { moves, moved, states_moved, states_lost } = better!;
    const request = PlanRequest.parse({ move: moves });
    const plan = await step(this.plans.make(request, base, this.view.comingDrivers));
    if (!plan.feasible) {
      this.why = `${why}. Not advised: ${planRefusal(plan)}`;
      await step(this.records.propose(null));
      return false;
    }
    const ids = moved.map(({ instance }) => instance);
    const ofMoved = new Set(ids);
    const nodes = base.graph.nodes.filter(({ id }) => ofMoved.has(id));
    const proposal: Proposal = {
      placement: placementOf(base),
      plan_id: plan.id,
      advised_ms: plan.created_ms,
      moves: [...moves],
      chains: [...new Set(nodes.map(({ chain_id }) => chain_id))],
      gain: gain!,
      disruption: {
        moved: [...moved],
        flows: this.loads.flowsAt(ids),
        states_moved,
        states_lost,
        seconds: await step(this.applier.usualSeconds()),
      },
      why,
    };
    if (isKnown) {
      await step(this.records.propose(proposal));
      return true;
    }
    await step(
      this.records.propose(proposal, {
        type: 'upkeep.advised',
        subject: BY,
        message: `${why}, with ${ids.length} ${ids.length === 1 ? 'instance' : 'instances'} moved`,
        data: { plan_id: plan.id, moved: ids, gain: gain! },
      }),
    );
    decide({ subject: BY, what: 'Advise another placement', why, inputs: { moved: ids.length }, told: true });
    return true;
  }

  private async applyBySelf({ step, decide }: LoopRun, plan: Plan, moved: readonly Moved[]): Promise<void> {
    const nowMs = performance.now();
    const { policy } = this.records;
    this.changesMs = this.changesMs.filter((atMs) => nowMs - atMs < WINDOW_MS);
    const isOften = this.changesMs.length >= policy.max_changes;
    const held = isOften
      ? `${this.changesMs.length} changes within an hour are the limit.`
      : nowMs < this.notBeforeMs
        ? 'The last try was refused a short time ago.'
        : this.hindrance.of(plan, moved, policy, new Date().getUTCHours());
    if (held !== null) {
      this.why = `${this.why}. Not applied yet: ${held}`;
      if (held !== this.toldHindrance) decide({ subject: BY, what: 'Hold back', why: held, inputs: {} });
      this.toldHindrance = held;
      return;
    }
    this.toldHindrance = null;
    try {
      const { id } = await step(this.applier.apply(BY, null));
      this.changesMs.push(nowMs);
      decide({ subject: BY, what: 'Apply another placement', why: this.why, inputs: { operation: id } });
    } catch (error) {
      if (!(error instanceof ProblemError) || error.status >= 500) throw error;
      this.retryLater(nowMs);
      decide({
        subject: BY,
        what: 'Apply another placement: not possible',
        why: error.message,
        inputs: {},
        told: true,
      });
    }
  }

  private retryLater(nowMs: number): void {
    this.notBeforeMs = nowMs + Math.min(WINDOW_MS, FIRST_RETRY_MS * 2 ** Math.min(this.failures++, 10));
  }

  private forget(why: string, drifts: readonly NfDrift[] = []): void {
    this.memory = NO_UPKEEP_MEMORY;
    this.compared = null;
    this.comparedMs = null;
    this.drifts = drifts;
    this.why = why;
  }
}

/** Why there is no comparison for now. */
function notCompared(error: unknown): string {
  if (error instanceof ProblemError && error.status === 503) return error.message;
  throw error;
}
