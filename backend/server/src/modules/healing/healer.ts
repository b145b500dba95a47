import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { OutOfService } from '@orrery/contract';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { newId } from '../../platform/ids.js';
import { ProblemError } from '../../platform/problem.js';
import { DEPLOYER, type Deployer, type PlanChange } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { LENDERS, type Lenders } from '../../ports/lenders.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { endedBy, isOver } from '../../ports/operation-log.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { Accounts, isDone } from './accounts.js';
import { ChangeLimit } from './change-limit.js';
import { chainsOf, instancesOn, leftSoFar, returnTo, toDrain, uses } from './moves.js';
import { HealingRecords } from './records.js';
import { Redeployment } from './redeployment.js';
import { Retries } from './retries.js';
import { isThere, Wellbeing } from './wellbeing.js';

const BY = 'healing';
const BACKOFF = { firstMs: 500, mostMs: 10_000 };
const DEADLINE_MS = 60_000;
/** How often it looks while something is not as it should be. */
const LOOK_MS = 1000;

/**
 * Moves away from servers that are lost, most important chains first, and back when they are well. What is to be done follows
 * from the records alone, and each change is asked for under an id that was stored before: a run may be the first after a kill.
 */
@Injectable()
export class Healer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private readonly wellbeing = new Wellbeing();
  private readonly limit = new ChangeLimit();
  private readonly retries = new Retries();
  /** Refusals and limits that were told, by subject. */
  private readonly told = new Map<string, string>();

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(HealingRecords) private readonly records: HealingRecords,
    @Inject(Accounts) private readonly accounts: Accounts,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(TWIN) private readonly twin: TwinView,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(Redeployment) private readonly redeployment: Redeployment,
    @Inject(LENDERS) private readonly lenders: Lenders,
  ) {
    this.loop = loops.add({
      id: 'healing',
      title: 'Healing',
      purpose: 'Moves away from servers that are lost, most important chains first, and back when they are well.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      run: (run) => this.look(run),
      onPause: () => this.wellbeing.reset(),
    });
  }

  onApplicationBootstrap(): void {
    for (const source of [this.fleet, this.view, this.twin, this.infrastructure, this.records])
      source.onChange(() => this.loop.wake());
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  private get servers() {
    return this.infrastructure.current.infrastructure.servers;
  }

  private async look(run: LoopRun): Promise<RunOutcome | undefined> {
    const nowMs = performance.now();
    await run.step(this.accounts.update(Date.now()));
    await run.step(this.sweep());
    await run.step(this.settle(run, nowMs));
    await run.step(this.redeployment.settle(nowMs, this.accounts.isUpToDate));
    if (!this.isJudging(nowMs)) {
      this.wellbeing.reset();
      return this.records.out().length > 0 ? { again: LOOK_MS } : undefined;
    }
    const dueMs = await run.step(this.judge(run, nowMs));
    dueMs.push(...(await run.step(this.records.alone(() => this.act(run, nowMs)))));
    return dueMs.length > 0 ? { again: Math.max(1, Math.min(...dueMs)) } : undefined;
  }

  /** Not while no server at all is well. */
  private isJudging(nowMs: number): boolean {
    return this.wellbeing.follow({ servers: this.servers.filter((it) => this.isThere(it)) }, this.fleet, nowMs);
  }

  private isThere(part: Pick<OutOfService, 'origin'>): boolean {
    return isThere(part, this.twin, this.infrastructure.current.revision);
  }

  /** Parts that were removed from the infrastructure. */
  private async sweep(): Promise<void> {
    const { servers, boards } = this.infrastructure.current.infrastructure;
    const known = new Set([...servers, ...boards].map(({ id }) => id));
    const gone = this.records.out().filter(({ id }) => !known.has(id));
    if (gone.length > 0)
      await this.records.commit((draft) => gone.forEach(({ id }) => void draft.change(id, () => undefined)));
  }

  /** Tells how the changes that were asked for ended. */
  private async settle({ decide }: LoopRun, nowMs: number): Promise<void> {
    const failed = new Set<string>();
    for (const part of this.records.out()) {
      const operation = part.operation_id === null ? undefined : this.deployer.operation(part.operation_id);
      if (!operation || !isOver(operation)) continue;
      const { id, state, error } = operation;
      const calledOffBy = endedBy(operation);
      // A return that is cancelled leaves the part as it is: back, and without what left it.
      const isCalledOff = calledOffBy !== null && this.isDrained(part);
      if (isDone(operation)) this.retries.clear(this.keyOf(part));
      else if (!failed.has(this.keyOf(part))) this.retries.later(this.keyOf(part), nowMs);
      if (!isDone(operation)) failed.add(this.keyOf(part));
      const why = `operation ${id} is ${state}`;
      await this.records.commit((draft) => {
        draft.change(part.id, (now) => {
          if (now?.operation_id !== id) return now;
          if (isCalledOff && now.lost) return { ...now, maintenance: null, operation_id: null };
          if (isCalledOff || (isDone(operation) && isBack(now))) return undefined;
          return { ...now, operation_id: null, ...(isBack(now) ? { return_refused: error?.detail ?? why } : {}) };
        });
        const { kind } = part;
        const data = { operation_id: id, chains: chainsOf(part.left) };
        if (isCalledOff)
          draft.tell({
            type: 'maintenance.ended',
            subject: part.id,
            message: `Its operation was ${operation.cancelled_by === null ? 'rolled back' : 'cancelled'}`,
            actor: calledOffBy,
            data: { kind, ...data },
          });
        // That a move away came about is told with its plan, since by then the part may be well again.
        if (!isDone(operation) || !isBack(part)) return;
        const message = `What left ${part.id} runs there again`;
        draft.tell({ type: 'healing.returned', subject: part.id, message, data });
      });
      decide({ subject: part.id, what: 'Take note of the change', why, inputs: { state }, told: true });
    }
  }

  /** Servers that are lost from now on, and those that are back. When to look again, in ms. */
  private async judge({ decide }: LoopRun, nowMs: number): Promise<number[]> {
    const { grace_s, stable_s, enabled } = this.records.policy;
    const { infrastructure } = this.infrastructure.current;
    const plan = this.view.comingPlan;
    const dueMs: number[] = [];
    for (const { id, origin } of this.servers) {
      const part = this.records.find(id);
      if (part?.lost) {
        const leftMs = this.wellbeing.wellIn(id, stable_s * 1000, nowMs);
        if (leftMs === null) continue;
        if (leftMs > 0) dueMs.push(leftMs);
        else await this.takeBack(part, decide, nowMs);
        continue;
      }
      const ill =
        enabled && uses(plan, infrastructure, { id, kind: 'server' })
          ? this.wellbeing.ill(id, grace_s * 1000, nowMs)
          : null;
      if (ill && ill.leftMs > 0) dueMs.push(ill.leftMs);
      if (!ill || ill.leftMs > 0) continue;
      const instances = instancesOn(plan, infrastructure, { id, kind: 'server' });
      const lost = { why: ill.why, since_ms: Date.now() };
      await this.records.commit((draft) => {
        draft.change(id, (now) => ({
          id,
          kind: 'server',
          origin,
          maintenance: now?.maintenance ?? null,
          lost,
          operation_id: null,
          left: leftSoFar(now?.left ?? [], instances, (instance) => this.lenders.isLent(instance)),
          return_refused: null,
        }));
        draft.tell({
          type: 'healing.lost',
          subject: id,
          message: `${id} is lost: ${ill.why} for ${grace_s} s. The flow state of what ran there is lost`,
          data: { instances: instances.map((instance) => instance.id), chains: chainsOf(instances) },
        });
      });
      this.wellbeing.lost(id, nowMs);
      this.retries.clear(HEAL.key);
      this.redeployment.tryAnew();
      decide({ subject: id, what: 'Do without the server', why: ill.why, inputs: { grace_s }, told: true });
    }
    return dueMs;
  }

  private async takeBack(part: OutOfService, decide: LoopRun['decide'], nowMs: number): Promise<void> {
    const { id } = part;
    const returns = this.returnsOf(part);
    await this.records.commit((draft) => {
      draft.change(id, (now) => {
        if (!now) return undefined;
        const stays = now.maintenance !== null || (returns !== 'never' && now.left.length > 0);
        return stays ? { ...now, lost: null, operation_id: null } : undefined;
      });
      draft.tell({ type: 'healing.back', subject: id, message: `${id} is well again`, data: { returns } });
    });
    this.wellbeing.back(id, nowMs);
    this.retries.clear(HEAL.key);
    this.redeployment.tryAnew();
    decide({ subject: id, what: 'Use the server again', why: 'it is well', inputs: { returns }, told: true });
  }

  private returnsOf({ origin }: Pick<OutOfService, 'origin'>): 'never' | 'ask' | 'auto' {
    const { return: asked } = this.records.policy;
    if (asked === 'by-origin') return origin === 'twin' ? 'auto' : 'ask';
    return asked;
  }

  /** Asks for what is to change: without healing, for drains, which people have asked for. When to look again, in ms. */
  private async act(run: LoopRun, nowMs: number): Promise<number[]> {
    const { enabled } = this.records.policy;
    const { infrastructure } = this.infrastructure.current;
    const plan = this.view.comingPlan;
    const out = this.records.out().filter((part) => this.isThere(part));
    const left = out.filter((part) => (part.lost ?? part.maintenance) !== null && uses(plan, infrastructure, part));
    const lost = left.filter((part) => enabled && part.lost !== null);
    const drained = left.filter((part) => this.isDrained(part) && !this.isAsked(part));
    const jobs: Job[] = [
      { ...HEAL, parts: lost },
      ...drained.map((part) => ({
        ...DRAIN,
        key: this.keyOf(part),
        parts: [part],
        request: toDrain(part, part.maintenance?.force ?? false),
      })),
    ];
    const dueMs: number[] = [];
    for (const job of jobs) {
      if (job.parts.length === 0) continue;
      const waitMs = this.retries.waitMs(job.key, nowMs) || this.heldBack(job, run.decide, nowMs);
      // Where this is refused, it is the turn of the others next.
      if (waitMs === 0) return [...dueMs, Math.min(LOOK_MS, await this.ask(run, nowMs, job))];
      dueMs.push(waitMs);
    }
    if (!enabled) return dueMs;
    const back = out.filter((part) => isBack(part) && this.returnsOf(part) === 'auto' && !this.isAsked(part));
    if (back.length + this.records.notKept().length === 0) return dueMs;
    // What is under way decides first how much room there is.
    if (this.accounts.atRest === undefined) return [...dueMs, LOOK_MS];
    for (const part of back) {
      const request = returnTo(part, plan, infrastructure);
      if (!request) {
        await this.records.commit((draft) =>
          draft.change(part.id, (now) => (now && isBack(now) && !this.isAsked(now) ? undefined : now)),
        );
        return [...dueMs, 1];
      }
      const job = { ...RETURN, key: this.keyOf(part), parts: [part], request };
      const waitMs = this.retries.waitMs(job.key, nowMs) || this.heldBack(job, run.decide, nowMs);
      if (waitMs === 0) return [...dueMs, await this.ask(run, nowMs, job)];
      dueMs.push(waitMs);
    }
    const again = await this.redeployment.act(run, nowMs, {
      heldBack: () => this.heldBack({ ...AGAIN, parts: [] }, run.decide, nowMs),
      made: () => this.limit.made(nowMs),
    });
    return [...dueMs, ...again];
  }

  /** Whether people have asked for what is to leave it, and healing does not do it. */
  private isDrained({ maintenance, lost }: OutOfService): boolean {
    return maintenance !== null && (lost === null || !this.records.policy.enabled);
  }

  /** What is tried again of a part. */
  private keyOf(part: OutOfService): string {
    if (isBack(part)) return `return ${part.id}`;
    return this.isDrained(part) ? `drain ${part.id}` : HEAL.key;
  }

  /** Whether its change is under way, or over and not settled yet. */
  private isAsked({ operation_id }: OutOfService): boolean {
    return operation_id !== null && this.deployer.operation(operation_id) !== undefined;
  }

  /** When to look again, in ms. */
  private async ask({ decide, step }: LoopRun, nowMs: number, job: Job): Promise<number> {
    const { key, parts, request, what } = job;
    const known = parts
      .map(({ operation_id }) => operation_id)
      .find((id) => id !== null && !this.deployer.operation(id));
    const id = known ?? newId('op');
    await this.records.commit((draft) => {
      for (const part of parts) draft.change(part.id, (now) => now && { ...now, operation_id: id });
    });
    const subject = parts.map((part) => part.id).join(', ');
    const why = parts.map((part) => part.lost?.why ?? part.maintenance?.reason ?? 'it is well again').join('; ');
    const refusal = await step(this.change(request, id));
    if (refusal === null) {
      if (job.counts) this.limit.made(nowMs);
      this.told.delete(key);
      decide({ subject, what, why, inputs: { operation: id } });
      return LOOK_MS;
    }
    const isReturn = parts.every(isBack);
    const isTold = this.told.get(key) === refusal;
    await this.records.commit((draft) => {
      for (const part of parts)
        draft.change(part.id, (now) =>
          now?.operation_id === id
            ? { ...now, operation_id: null, return_refused: isBack(now) ? refusal : now.return_refused }
            : now,
        );
      const data = { chains: chainsOf(parts.flatMap(({ left }) => left)) };
      if (!isTold && !isReturn) draft.tell({ type: 'healing.refused', subject: parts[0]!.id, message: refusal, data });
    });
    this.told.set(key, refusal);
    if (!isTold) decide({ subject, what: `${what}: not possible`, why: refusal, inputs: {}, told: !isReturn });
    return this.retries.later(key, nowMs);
  }

  /** Null: accepted. Otherwise why not. */
  private async change(request: PlanChange, id: string): Promise<string | null> {
    try {
      await this.deployer.change(request, { id, kind: 'reconfigure', by: BY });
      return null;
    } catch (error) {
      if (error instanceof ProblemError && error.status < 500) return error.message;
      throw error;
    }
  }

  /** How long the limit of changes holds this one back, in ms; 0: it does not. */
  private heldBack({ key, waits, parts }: Job, decide: LoopRun['decide'], nowMs: number): number {
    if (!waits) return 0;
    const { max_changes } = this.records.policy;
    const waitMs = this.limit.waitMs(max_changes, nowMs);
    if (waitMs === 0) this.told.delete(LIMIT);
    else if (!this.told.has(LIMIT)) {
      const why = `${max_changes} changes within 10 minutes are the limit`;
      decide({ subject: parts[0]?.id ?? key, what: 'Hold back', why, inputs: { max_changes } });
      this.told.set(LIMIT, why);
    }
    return waitMs;
  }
}

/** One change of what runs. */
interface Job {
  /** What is tried again if it is refused. */
  readonly key: string;
  readonly what: string;
  readonly parts: readonly OutOfService[];
  readonly request: PlanChange;
  /** Against the limit of changes: what the loop does by itself. */
  readonly counts: boolean;
  /** Whether the limit holds it back. */
  readonly waits: boolean;
}

const LIMIT = 'limit';
const HEAL = {
  key: 'lost',
  what: 'Run elsewhere what was lost',
  request: { when_short: 'leave-out' },
  counts: true,
  waits: false,
} as const;
const DRAIN = { what: 'Drain for maintenance', counts: false, waits: false } as const;
const RETURN = { what: 'Return what left it', counts: true, waits: true } as const;
const AGAIN = { key: 'not kept', what: 'Deploy again', request: {}, counts: true, waits: true } as const;

function isBack({ lost, maintenance }: OutOfService): boolean {
  return lost === null && maintenance === null;
}
