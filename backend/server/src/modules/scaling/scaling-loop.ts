import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Scaling, ScalingPolicy } from '@orrery/contract';
import { decideScaling, type NfLoad, NO_SCALING_MEMORY, type ScalingMemory, whyNotJudged } from '@orrery/planner';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { ProblemError } from '../../platform/problem.js';
import { CHAINS, type ChainStore } from '../../ports/chain-store.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { ScalingConductor } from './conductor.js';
import { ScalingLoads } from './loads.js';
import { ScalingPolicies, type StoredScalingPolicy } from './policies.js';
import { runningNf } from './running-nf.js';
import { Scaler } from './scaler.js';
import { whyNoEngines } from './scaling-way.js';
import { Scalings } from './scalings.js';

const PERIOD_MS = 500;
const DEADLINE_MS = 60_000;
const ACTOR = 'scaling';
/** Delay before a change that was refused or failed is tried again: doubles with each, up to the most. */
const RETRY = { firstMs: 5000, mostMs: 300_000 };
/** Between two looks whether the chain of a policy still exists. */
const SWEEP_MS = 10_000;
/** An overload that comes back sooner is the one that was told. */
const CALM_MS = 60_000;

/** What is remembered of a policy until it changes. */
interface Watch {
  memory: ScalingMemory;
  /** Why the last change that was due could not be made. */
  refusal: string | null;
  /** Why the flows could not be tracked, until they are. */
  untracked: string | null;
  /** Monotonic clock: when the NF was overloaded last. */
  overMs: number;
  /** Consecutive refusals. */
  refusals: number;
  /** Monotonic clock: no change is tried before. */
  notBeforeMs: number;
}

/** Lets the number of instances of NFs follow their load (E2 3.4.3), and takes changes of it to their end. */
@Injectable()
export class ScalingLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  /** A changed policy is a new object. */
  private readonly watches = new WeakMap<StoredScalingPolicy, Watch>();
  /** Monotonic clock: the ends of changes. */
  private readonly ends = new WeakMap<Scaling, number>();
  private readonly loop: ControlLoop;
  private sweepMs = 0;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(ScalingPolicies) private readonly policies: ScalingPolicies,
    @Inject(Scalings) private readonly scalings: Scalings,
    @Inject(Scaler) private readonly scaler: Scaler,
    @Inject(ScalingConductor) private readonly conductor: ScalingConductor,
    @Inject(ScalingLoads) private readonly loads: ScalingLoads,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.loop = loops.add({
      id: 'scaling',
      title: 'Scaling',
      purpose:
        'Changes the number of instances of NFs when their load asks for it, and takes such changes to their end.',
      tickMs: PERIOD_MS,
      backoff: { firstMs: PERIOD_MS, mostMs: 10_000 },
      deadlineMs: DEADLINE_MS,
      run: (run) => this.run(run),
    });
  }

  onApplicationBootstrap(): void {
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  wake(): void {
    this.loop.wake();
  }

  /** The policy with what its NF does. */
  describe(policy: StoredScalingPolicy): ScalingPolicy {
    const { refusal, untracked } = this.watchOf(policy);
    const load = policy.enabled ? this.loads.of(policy.nf) : null;
    const unjudged = load && whyNotJudged(load);
    const revision = this.policies.revisionOf(policy.id);
    return { ...policy, revision, state: this.stateOf(policy, load), unjudged, refusal: refusal ?? untracked };
  }

  /** What fails does not hold up the rest. */
  private async run(run: LoopRun): Promise<undefined> {
    const failures: unknown[] = [];
    const attempt = (work: Promise<void>) => work.catch((error: unknown) => void failures.push(error));
    for (const scaling of this.scalings.running())
      if (!run.signal.aborted) await attempt(this.conductor.look(scaling, run));
    for (const policy of this.policies.all())
      if (policy.enabled && !run.signal.aborted) await attempt(this.lookAt(policy, run, performance.now()));
    await attempt(this.sweep(run));
    if (failures.length > 0) throw failures[0];
  }

  private async lookAt(policy: StoredScalingPolicy, run: LoopRun, nowMs: number): Promise<void> {
    const { nf } = policy;
    const watch = this.watchOf(policy);
    const load = this.loads.of(nf);
    if (!load || this.scalings.ofChain(nf.chain_id)) {
      watch.memory = { ...watch.memory, side: 'between' };
      if (!load) watch.untracked = null;
      return;
    }
    // What has the chain for a moment refuses nothing.
    const mayChange = nowMs >= this.notBefore(policy, watch, nowMs) && !this.isTaken(nf.chain_id);
    if (mayChange && whyNotJudged(load) === null && (await this.arm(policy, watch, run))) return;
    const changedMs = Math.max(watch.memory.changedMs, this.lastChange(policy, nowMs));
    const { decision, memory } = decideScaling(policy, load, { ...watch.memory, changedMs }, nowMs);
    if (memory.side === 'over') watch.overMs = nowMs;
    if (decision.kind === 'none') {
      watch.memory = memory;
      if (nowMs - watch.overMs >= CALM_MS) watch.refusal = null;
      return;
    }
    if (decision.kind === 'at-limit') {
      watch.memory = memory;
      return this.tell(policy, watch, 'refusal', decision.why, load, run);
    }
    // Without the change it stays due.
    if (!mayChange) {
      const stuck = this.scaler.stuckDeployment(nf.chain_id);
      if (stuck !== null) this.tell(policy, watch, 'refusal', stuck, load, run);
      return;
    }
    const { kind, instance, instances, why } = decision;
    const what =
      kind === 'out' ? `Split ${instance.id}: ${instances} instances` : `Remove ${instance.id}: ${instances} instances`;
    run.decide({ subject: policy.id, what, why, inputs: inputsOf(load), told: true });
    const split = kind === 'out' ? { split: instance.ordinal } : {};
    const outcome = await this.begin(policy, watch, { instances, cause: why, ...split }, run);
    // What was refused has changed nothing: it stays due.
    if (outcome === 'begun') watch.memory = memory;
    else if (outcome !== 'waits') this.refuse(policy, watch, 'refusal', outcome.refused, load, run);
  }

  /** Has engines or switches track the flows of the NF before they need to. Whether that was begun, refused, or waits. */
  private async arm(policy: StoredScalingPolicy, watch: Watch, run: LoopRun): Promise<boolean> {
    const running = runningNf(this.view.plan, policy.nf);
    if (!running || running.tracked || running.waived) {
      watch.untracked = null;
      return false;
    }
    if (this.scaler.keepsNothing(running)) return false;
    // Switches know flows where they keep them; else engines do that share them out for the switches, where flows are to stay.
    const byEngines = policy.strategy === 'avoid' && whyNoEngines(running) === null;
    if (running.at === 'switch' && policy.strategy !== 'never' && !byEngines) return false;
    const why = 'flows in progress have to be known before their instance is split';
    run.decide({ subject: policy.id, what: `Track the flows of ${policy.nf.node_id}`, why, inputs: {} });
    const outcome = await this.begin(policy, watch, { instances: running.instances.length, cause: why }, run);
    if (typeof outcome === 'object') this.refuse(policy, watch, 'untracked', outcome.refused, null, run);
    return true;
  }

  /** `waits`: something else has the chain. */
  private async begin(
    policy: StoredScalingPolicy,
    watch: Watch,
    wish: { readonly instances: number; readonly cause: string; readonly split?: number },
    run: LoopRun,
  ): Promise<'begun' | 'waits' | { readonly refused: string }> {
    const flows = policy.strategy === 'migrate' ? 'migrate' : 'keep';
    const drain_s = Math.max(60, Math.round(policy.cooldown_s));
    const about = { nf: policy.nf, policy_id: policy.id, by: ACTOR, bySwitches: policy.strategy === 'never' };
    try {
      await run.step(this.scaler.begin({ ...wish, cause: wish.cause.slice(0, 500), flows, drain_s, ...about }));
      watch.refusal = null;
      watch.refusals = 0;
      return 'begun';
    } catch (error) {
      if (!(error instanceof ProblemError) || error.status >= 500) throw error;
      return this.isTaken(policy.nf.chain_id) ? 'waits' : { refused: error.message };
    }
  }

  /** Whether something changes the chain, or deploys it, for which another change has to wait. */
  private isTaken(chainId: string): boolean {
    return this.scalings.isHeld(chainId) || this.view.deployment(chainId)?.state === 'deploying';
  }

  /** Tried again later and later. */
  private refuse(
    policy: StoredScalingPolicy,
    watch: Watch,
    what: 'refusal' | 'untracked',
    why: string,
    load: NfLoad | null,
    run: LoopRun,
  ): void {
    watch.notBeforeMs = performance.now() + retryMs(watch.refusals);
    watch.refusals++;
    this.tell(policy, watch, what, why, load, run);
  }

  /** Told once, until a change is made or none has been due for a while, and until the flows are tracked. */
  private tell(
    policy: StoredScalingPolicy,
    watch: Watch,
    what: 'refusal' | 'untracked',
    why: string,
    load: NfLoad | null,
    { decide }: LoopRun,
  ): void {
    const { id, nf } = policy;
    const told = watch[what] !== null;
    watch[what] = why;
    if (told) return;
    const inputs = load ? inputsOf(load) : {};
    decide({ subject: id, what: `${nf.node_id} keeps its number of instances`, why, inputs, told: true });
    const message = `${nf.node_id} was not scaled: ${why}`;
    this.events.append({ type: 'scaling.refused', subject: id, message, actor: ACTOR, data: { policy_id: id, ...nf } });
  }

  /** Monotonic clock: when a change may be made again, after refusals and after those that failed, also to track flows. */
  private notBefore(policy: StoredScalingPolicy, { notBeforeMs }: Watch, nowMs: number): number {
    const failures = this.failuresOf(policy);
    const failed = failures === 0 ? undefined : this.scalings.ofNf(policy.nf).find(({ state }) => state === 'failed');
    return Math.max(notBeforeMs, this.endOf(failed, nowMs) + retryMs(failures - 1));
  }

  private watchOf(policy: StoredScalingPolicy): Watch {
    const known = this.watches.get(policy);
    if (known) return known;
    const watch = {
      memory: NO_SCALING_MEMORY,
      refusal: null,
      untracked: null,
      overMs: Number.NEGATIVE_INFINITY,
      refusals: 0,
      notBeforeMs: 0,
    };
    this.watches.set(policy, watch);
    return watch;
  }

  /** Consecutive failed changes of the NF, the latest first. */
  private failuresOf({ nf }: StoredScalingPolicy): number {
    const over = this.scalings.ofNf(nf).filter(({ state }) => state !== 'running');
    const first = over.findIndex(({ state }) => state !== 'failed');
    return first < 0 ? over.length : first;
  }

  /** When the number of the NF's instances was last changed, or failed to be, whoever asked for it. */
  private lastChange({ nf }: StoredScalingPolicy, nowMs: number): number {
    const isOver = ({ from, to, ended_ms }: Scaling) => from !== to && ended_ms !== null;
    return this.endOf(this.scalings.ofNf(nf).find(isOver), nowMs);
  }

  /** Monotonic clock. Its age is taken from the wall clock once, and is at least 0. */
  private endOf(scaling: Scaling | undefined, nowMs: number): number {
    if (!scaling) return Number.NEGATIVE_INFINITY;
    const endMs = this.ends.get(scaling) ?? nowMs - Math.max(Date.now() - scaling.ended_ms!, 0);
    this.ends.set(scaling, endMs);
    return endMs;
  }

  private stateOf(policy: StoredScalingPolicy, load: NfLoad | null): ScalingPolicy['state'] {
    if (!policy.enabled) return 'disabled';
    if (!load) return 'not-deployed';
    if (this.scalings.ofNf(policy.nf).some(({ state }) => state === 'running')) return 'scaling';
    if (whyNotJudged(load) !== null) return 'not-judged';
    const nowMs = performance.now();
    const { memory } = this.watchOf(policy);
    if (nowMs - Math.max(memory.changedMs, this.lastChange(policy, nowMs)) < policy.cooldown_s * 1000) return 'cooling';
    return ({ over: 'overloaded', under: 'idle', between: 'watching' } as const)[memory.side];
  }

  /** Removes policies of deleted chains. */
  private async sweep({ step }: LoopRun): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.sweepMs < SWEEP_MS) return;
    this.sweepMs = nowMs;
    for (const { id, nf } of this.policies.all()) {
      if (this.view.deployment(nf.chain_id)) continue;
      const isGone = await step(
        this.chains.get(nf.chain_id).then(
          () => false,
          (error: unknown) => error instanceof ProblemError && error.status === 404,
        ),
      );
      if (isGone) await step(this.policies.remove(id, null));
    }
  }
}

function retryMs(tries: number): number {
  return Math.min(RETRY.mostMs, RETRY.firstMs * 2 ** tries);
}

function inputsOf({ instances, behind }: NfLoad): Record<string, number> {
  const most = (values: readonly (number | null)[]) => Math.max(0, ...values.map((value) => value ?? 0));
  return {
    instances: instances.length,
    utilization: most(instances.map(({ utilization }) => utilization)),
    queue: most(instances.map(({ queue }) => queue)),
    delay_us: most(instances.map(({ delay_us }) => delay_us)),
    queue_behind: behind?.queue ?? 0,
  };
}
