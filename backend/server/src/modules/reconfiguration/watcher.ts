import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { BoardPlace, NfMove, Reconfiguration, ReconfigurationPolicy } from '@orrery/contract';
import { LOG, type Log } from '../../platform/log.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { boardOf, nameOf, nfKey, sameNf, USUAL_PRIORITY } from './decision.js';
import { Hysteresis } from './hysteresis.js';
import { type Cause, ReconfigurationManager } from './manager.js';
import { inWords, NfLoads } from './nf-loads.js';
import { Policies, type StoredPolicy } from './policies.js';
import { Records } from './records.js';

const PERIOD_MS = 500;
/** A slot that does not work for so long is given up; an agent that restarts finds its boards sooner. */
const GIVE_UP_MS = 1000;
/** A policy, or a way back to software, that was refused or failed is tried again after so long, and later each time. */
const RETRY_MS = { first: 5000, most: 300_000 };

/** What is remembered of a policy for as long as it stays as it is. */
interface Watch {
  readonly hysteresis: Hysteresis;
  /** When a reconfiguration was last asked for by it, or a look at it failed. */
  askedMs: number;
  /** Looks that failed, one after the other. */
  failures: number;
}

/** The resource evaluator of CoNFV IV-D: looks at load and boards, and asks for reconfigurations when they are due. */
@Injectable()
export class Watcher implements OnApplicationBootstrap, OnApplicationShutdown {
  /** A policy that is changed is another object. */
  private readonly watches = new WeakMap<StoredPolicy, Watch>();
  private readonly brokenSinceMs = new Map<string, number>();
  /** Ways back to software that did not come about, one after the other. */
  private fallBacksFailed = 0;
  private fallBackAtMs = 0;
  private timer: NodeJS.Timeout | null = null;
  private looking = false;

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(NfLoads) private readonly loads: NfLoads,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(Policies) private readonly policies: Policies,
    @Inject(Records) private readonly records: Records,
    @Inject(ReconfigurationManager) private readonly manager: ReconfigurationManager,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => void this.look(Date.now()), PERIOD_MS);
  }

  onApplicationShutdown(): void {
    if (this.timer) clearInterval(this.timer);
  }

  /** The policy with what is measured of its NF now. */
  describe(policy: StoredPolicy, nowMs = Date.now()): ReconfigurationPolicy {
    const load_now = this.loads.of(policy.nf, policy.threshold.metric, nowMs);
    const cooling = this.isCooling(policy, nowMs);
    const side = this.watchOf(policy).hysteresis.now;
    const deployed = nfKey(this.view.plan, policy.nf) !== null;
    const watching = cooling ? 'cooling' : side === 'between' ? 'watching' : side;
    return { ...policy, load_now, state: !policy.enabled ? 'disabled' : deployed ? watching : 'not-deployed' };
  }

  causeOf(cause: Reconfiguration['cause'], trigger: string, by: string, policy: StoredPolicy | null = null): Cause {
    return {
      cause,
      trigger,
      by,
      policy_id: policy?.id ?? null,
      priority: policy?.priority ?? USUAL_PRIORITY,
    };
  }

  private async look(nowMs: number): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    await this.lookAtBoards(nowMs).catch((error: unknown) => this.missed(error));
    for (const policy of this.policies.all()) {
      if (policy.enabled) await this.lookAt(policy, nowMs).catch((error: unknown) => this.missed(error, policy));
    }
    this.looking = false;
  }

  private missed(error: unknown, policy: StoredPolicy | null = null): void {
    this.log.warn({ error: (error as Error).message, policy: policy?.id }, 'no reconfiguration now');
    if (!policy) return;
    const watch = this.watchOf(policy);
    watch.failures++;
    watch.askedMs = Date.now();
  }

  private async lookAtBoards(nowMs: number): Promise<void> {
    const broken = this.boards.broken();
    const names = new Set(broken.map(nameOf));
    for (const known of this.brokenSinceMs.keys()) if (!names.has(known)) this.brokenSinceMs.delete(known);
    for (const name of names) if (!this.brokenSinceMs.has(name)) this.brokenSinceMs.set(name, nowMs);
    const lost = (it: BoardPlace) => nowMs - (this.brokenSinceMs.get(nameOf(it)) ?? nowMs) >= GIVE_UP_MS;
    const used = this.view.comingPlan?.instances.find(({ board }) => board && lost(board));
    if (!used) {
      this.fallBacksFailed = 0;
      this.fallBackAtMs = 0;
      return;
    }
    if (nowMs < this.fallBackAtMs || this.manager.busy) return;
    this.fallBackAtMs = nowMs + retryMs(this.fallBacksFailed++);
    const why = this.boards.accelerators().find(({ id }) => id === used.board!.board)?.detail ?? 'it does not work';
    await this.manager.fallBack(this.causeOf('fallback', `${nameOf(used.board!)}: ${why}`, 'reconfiguration manager'));
  }

  private async lookAt(policy: StoredPolicy, nowMs: number): Promise<void> {
    const { nf, threshold } = policy;
    const watch = this.watchOf(policy);
    const { hysteresis } = watch;
    const load = this.loads.of(nf, threshold.metric, nowMs);
    if (load === null) return hysteresis.reset();
    const due = hysteresis.due(load, threshold, nowMs);
    const onBoard = boardOf(this.view.comingPlan, nf) !== null;
    const wanted = (due === 'above' && !onBoard) || (due === 'below' && onBoard);
    if (!wanted || this.isCooling(policy, nowMs) || this.manager.busy) return;
    watch.askedMs = nowMs;
    const say = (value: number) => inWords(threshold.metric, value);
    if (due === 'above') {
      const trigger = `${say(load)} for ${threshold.for_s} s, above ${say(threshold.up)}`;
      const { slot, load: kind, policy: frames, displaces } = policy;
      const inTheWay = displaces.filter((each) => boardOf(this.view.comingPlan, each));
      const request = { nf, to: 'board' as const, slot, load: kind, policy: frames, displaces: inTheWay };
      await this.manager.request(request, this.causeOf('load-high', trigger, 'reconfiguration manager', policy));
    } else {
      const trigger = `${say(load)} for ${threshold.for_s} s, below ${say(threshold.down)}`;
      const cause = this.causeOf('load-low', trigger, 'reconfiguration manager', policy);
      await this.manager.back(nf, this.lastMoves(policy), cause);
    }
    watch.askedMs = Date.now();
    watch.failures = 0;
  }

  private watchOf(policy: StoredPolicy): Watch {
    const watch = this.watches.get(policy) ?? { hysteresis: new Hysteresis(), askedMs: 0, failures: 0 };
    this.watches.set(policy, watch);
    return watch;
  }

  /** Whoever moved the NF last, the policy leaves it alone for a while. */
  private isCooling(policy: StoredPolicy, nowMs: number): boolean {
    const { nf, cooldown_s } = policy;
    const { askedMs, failures } = this.watchOf(policy);
    const moved = this.records.all().filter(({ moves }) => moves.some((move) => sameNf(move, nf)));
    const failed = moved.findIndex(({ state }) => state === 'completed');
    const tries = failures + (failed < 0 ? moved.length : failed);
    const wait = Math.max(cooldown_s * 1000, tries > 0 ? retryMs(tries - 1) : 0);
    return nowMs - Math.max(askedMs, moved[0]?.ended_ms ?? 0) < wait;
  }

  /** What moved when this policy last brought its NF to a board. */
  private lastMoves({ id }: StoredPolicy): readonly NfMove[] {
    const last = this.records
      .all()
      .find(({ policy_id, cause, state }) => policy_id === id && cause === 'load-high' && state === 'completed');
    return last?.moves ?? [];
  }
}

function retryMs(tries: number): number {
  return Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** tries);
}
