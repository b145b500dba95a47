import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { NfMove, Reconfiguration, ReconfigurationPolicy } from '@orrery/contract';
import type { ControlLoop } from '../../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../../platform/control-loop/definition.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { NF_LOADS, type NfLoads } from '../../../ports/nf-loads.js';
import { RECONFIGURER, type Reconfigurer } from '../../../ports/reconfigurer.js';
import { boardOf, instancesOf, sameNf } from '../places.js';
import { Records } from '../records/records.js';
import { causeOf } from '../requests/cause.js';
import { Hysteresis } from './hysteresis.js';
import { Policies, type StoredPolicy } from './policies.js';
import { inWords } from './policy-rules.js';
import { retryMs } from './retry.js';

const PERIOD_MS = 500;
const ACTOR = 'policy watcher';
const DEADLINE_MS = 60_000;
/** What is remembered about a policy until it changes. */
interface Watch {
  readonly hysteresis: Hysteresis;
  /** Monotonic clock: when it last requested a reconfiguration, or its evaluation failed. */
  askedMs: number;
  /** Consecutive failed evaluations. */
  failures: number;
}

/** The resource evaluator of CoNFV IV-D: watches load and boards, and requests reconfigurations when they are due. */
@Injectable()
export class PolicyWatcher implements OnApplicationBootstrap, OnApplicationShutdown {
  /** A changed policy is a new object. */
  private readonly watches = new WeakMap<StoredPolicy, Watch>();
  /** Monotonic clock: the ends of reconfigurations. */
  private readonly ends = new WeakMap<Reconfiguration, number>();
  private readonly loop: ControlLoop;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(NF_LOADS) private readonly loads: NfLoads,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(Policies) private readonly policies: Policies,
    @Inject(Records) private readonly records: Records,
    @Inject(RECONFIGURER) private readonly reconfigurer: Reconfigurer,
  ) {
    this.loop = loops.add({
      id: 'policy-watch',
      title: 'Policy watcher',
      purpose: 'Compares the load of NFs with their policies, and requests reconfigurations that are due.',
      tickMs: PERIOD_MS,
      backoff: { firstMs: PERIOD_MS, mostMs: 10_000 },
      deadlineMs: DEADLINE_MS,
      run: (run) => this.look(run),
    });
  }

  onApplicationBootstrap(): void {
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** The policy with the current load of its NF. */
  describe(policy: StoredPolicy): ReconfigurationPolicy {
    const load_now = this.loads.of(policy.nf, policy.threshold.metric);
    const cooling = this.isCooling(policy, performance.now());
    const side = this.watchOf(policy).hysteresis.now;
    const deployed = instancesOf(this.view.plan, policy.nf).length > 0;
    const watching = cooling ? 'cooling' : side === 'between' ? 'watching' : side;
    const state = !policy.enabled ? 'disabled' : deployed ? watching : 'not-deployed';
    return { ...policy, revision: this.policies.revisionOf(policy.id), load_now, state };
  }

  /** A failing policy does not block the others. */
  private async look(run: LoopRun): Promise<undefined> {
    for (const policy of this.policies.all()) {
      if (!policy.enabled || run.signal.aborted) continue;
      await run
        .step(this.lookAt(policy, run, performance.now()))
        .catch((error: unknown) => this.missed(run, error, policy));
    }
  }

  private missed({ decide }: LoopRun, error: unknown, policy: StoredPolicy): void {
    const watch = this.watchOf(policy);
    watch.failures++;
    watch.askedMs = performance.now();
    const { nf, threshold } = policy;
    const inputs = { load: this.loads.of(nf, threshold.metric), metric: threshold.metric };
    decide({ subject: policy.id, what: 'No reconfiguration now', why: (error as Error).message, inputs });
  }

  private async lookAt(policy: StoredPolicy, { decide }: LoopRun, nowMs: number): Promise<void> {
    const { nf, threshold } = policy;
    const watch = this.watchOf(policy);
    const { hysteresis } = watch;
    const load = this.loads.of(nf, threshold.metric);
    if (load === null) return hysteresis.reset();
    const due = hysteresis.due(load, threshold, nowMs);
    const onBoard = boardOf(this.view.comingPlan, nf) !== null;
    const wanted = (due === 'above' && !onBoard) || (due === 'below' && onBoard);
    if (!wanted || this.isCooling(policy, nowMs) || this.reconfigurer.holderOf(nf)) return;
    watch.askedMs = nowMs;
    const inputs = { load, metric: threshold.metric, up: threshold.up, down: threshold.down };
    const say = (value: number) => inWords(threshold.metric, value);
    if (due === 'above') {
      const trigger = `${say(load)} for ${threshold.for_s} s, above ${say(threshold.up)}`;
      const { slot, load: kind, policy: frames, displaces } = policy;
      const inTheWay = displaces.filter((each) => boardOf(this.view.comingPlan, each));
      const request = { nf, to: 'board' as const, slot, load: kind, policy: frames, displaces: inTheWay };
      decide({ subject: policy.id, what: 'Move to a board', why: trigger, inputs });
      await this.reconfigurer.request(request, causeOf('load-high', trigger, ACTOR, policy));
    } else {
      const trigger = `${say(load)} for ${threshold.for_s} s, below ${say(threshold.down)}`;
      decide({ subject: policy.id, what: 'Move back to software', why: trigger, inputs });
      await this.reconfigurer.back(nf, this.lastMoves(policy), causeOf('load-low', trigger, ACTOR, policy));
    }
    watch.askedMs = performance.now();
    watch.failures = 0;
  }

  private watchOf(policy: StoredPolicy): Watch {
    const watch = this.watches.get(policy) ?? {
      hysteresis: new Hysteresis(),
      askedMs: Number.NEGATIVE_INFINITY,
      failures: 0,
    };
    this.watches.set(policy, watch);
    return watch;
  }

  /** The cooldown applies whoever moved the NF last. */
  private isCooling(policy: StoredPolicy, nowMs: number): boolean {
    const { nf, cooldown_s } = policy;
    const { askedMs, failures } = this.watchOf(policy);
    const moved = this.records.all().filter(({ moves }) => moves.some((move) => sameNf(move, nf)));
    const failed = moved.findIndex(({ state }) => state === 'completed');
    const tries = failures + (failed < 0 ? moved.length : failed);
    const wait = Math.max(cooldown_s * 1000, tries > 0 ? retryMs(tries - 1) : 0);
    return nowMs - Math.max(askedMs, this.endOf(moved[0], nowMs)) < wait;
  }

  /**
   * When a stored reconfiguration ended by the monotonic clock. Its age is taken from the wall clock once, when it is first
   * looked at, and is at least 0: a clock that is set back afterwards or before does not prolong the cooldown.
   */
  private endOf(record: Reconfiguration | undefined, nowMs: number): number {
    if (!record?.ended_ms) return Number.NEGATIVE_INFINITY;
    const endMs = this.ends.get(record) ?? nowMs - Math.max(Date.now() - record.ended_ms, 0);
    this.ends.set(record, endMs);
    return endMs;
  }

  /** Moves of the latest reconfiguration by this policy that brought its NF to a board. */
  private lastMoves({ id }: StoredPolicy): readonly NfMove[] {
    const last = this.records
      .all()
      .find(({ policy_id, cause, state }) => policy_id === id && cause === 'load-high' && state === 'completed');
    return last?.moves ?? [];
  }
}
