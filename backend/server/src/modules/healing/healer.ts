import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type OutOfService, PlanRequest } from '@orrery/contract';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { Decision, LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { newId } from '../../platform/ids.js';
import { ProblemError } from '../../platform/problem.js';
import { DEPLOYER, type Deployer, type PlanChange } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { isOver } from '../../ports/operation-log.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { Accounts, isDone } from './accounts.js';
import { instancesOn, leftBy, returnTo, uses } from './moves.js';
import { HealingRecords } from './records.js';
import { Wellbeing } from './wellbeing.js';

const BY = 'healing';
const BACKOFF = { firstMs: 500, mostMs: 10_000 };
const DEADLINE_MS = 60_000;
const FIRST_RETRY_MS = 2000;
const MOST_RETRY_MS = 300_000;
/** Within which changes are counted. */
const WINDOW_MS = 600_000;
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
  /** When changes were made by this loop, by a monotonic clock. */
  private changesMs: number[] = [];
  /** Refused changes in a row, and until when none is asked for; monotonic. */
  private failures = 0;
  private notBeforeMs = 0;
  /** Refusals and limits that were told, by subject. */
  private readonly told = new Map<string, string>();
  /** For what it was last tried to deploy chains that are not kept. */
  private tried = '';

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(HealingRecords) private readonly records: HealingRecords,
    @Inject(Accounts) private readonly accounts: Accounts,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(TWIN) private readonly twin: TwinView,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(PLANS) private readonly plans: PlanStore,
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
    await run.step(this.settle(run));
    if (!this.isJudging(nowMs)) {
      this.wellbeing.reset();
      return this.records.out().length > 0 ? { again: LOOK_MS } : undefined;
    }
    const dueMs = await run.step(this.judge(run, nowMs));
    // Without healing nothing is done, but what is well again is used again.
    if (this.records.policy.enabled) dueMs.push(...(await run.step(this.act(run, nowMs))));
    return dueMs.length > 0 ? { again: Math.max(1, Math.min(...dueMs)) } : undefined;
  }

  /** Not while the twin builds, and not while no server at all is well. */
  private isJudging(nowMs: number): boolean {
    const { revision, infrastructure } = this.infrastructure.current;
    const emulated = infrastructure.servers.some(({ origin }) => origin === 'twin');
    if (emulated && (!this.twin.enabled || this.twin.builtRevision !== revision)) return false;
    return this.wellbeing.follow(infrastructure, this.fleet, nowMs);
  }

  /** Parts that were removed from the infrastructure. */
  private async sweep(): Promise<void> {
    const { servers, boards } = this.infrastructure.current.infrastructure;
    const known = new Set([...servers, ...boards].map(({ id }) => id));
    const gone = this.records.out().filter(({ id }) => !known.has(id));
    if (gone.length > 0) await this.records.commit((draft) => gone.forEach(({ id }) => void draft.remove(id)));
  }

  /** Tells how the changes that were asked for ended. */
  private async settle({ decide }: LoopRun): Promise<void> {
    for (const part of this.records.out()) {
      const operation = part.operation_id === null ? undefined : this.deployer.operation(part.operation_id);
      if (!operation || !isOver(operation)) continue;
      const { id } = operation;
      const isBack = part.maintenance === null && part.lost === null;
      const isCancelled = operation.cancelled_by !== null && part.maintenance !== null;
      if (isDone(operation)) this.failures = 0;
      else this.retryLater();
      await this.records.commit((draft) => {
        if ((isDone(operation) && isBack) || isCancelled) draft.remove(part.id);
        else draft.put({ ...part, operation_id: null });
        if (isCancelled)
          draft.tell({
            type: 'maintenance.ended',
            subject: part.id,
            message: 'Its operation was cancelled',
            actor: operation.cancelled_by!,
            data: { kind: part.kind, operation_id: id },
          });
        if (!isDone(operation) || part.maintenance) return;
        draft.tell(
          isBack
            ? {
                type: 'healing.returned',
                subject: part.id,
                message: `What left ${part.id} runs there again`,
                data: { operation_id: id },
              }
            : {
                type: 'healing.moved',
                subject: part.id,
                message: `What ${part.id} ran and has room runs elsewhere`,
                data: { operation_id: id },
              },
        );
      });
      const why = `operation ${id} is ${operation.state}`;
      decide({
        subject: part.id,
        what: 'Take note of the change',
        why,
        inputs: { state: operation.state },
        told: true,
      });
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
      const left = [...(part?.left ?? []), ...leftBy(instances)];
      await this.records.commit((draft) => {
        draft.put({
          id,
          kind: 'server',
          origin,
          maintenance: part?.maintenance ?? null,
          lost,
          operation_id: null,
          left,
        });
        draft.tell({
          type: 'healing.lost',
          subject: id,
          message: `${id} is lost: ${ill.why} for ${grace_s} s. The flow state of what ran there is lost`,
          data: { instances: instances.map((instance) => instance.id) },
        });
      });
      this.wellbeing.lost(id, nowMs);
      this.tried = '';
      decide({ subject: id, what: 'Do without the server', why: ill.why, inputs: { grace_s }, told: true });
    }
    return dueMs;
  }

  private async takeBack(part: OutOfService, decide: LoopRun['decide'], nowMs: number): Promise<void> {
    const { id } = part;
    const returns = this.returnsOf(part);
    const stays = part.maintenance !== null || (returns !== 'never' && part.left.length > 0);
    await this.records.commit((draft) => {
      if (stays) draft.put({ ...part, lost: null, operation_id: null });
      else draft.remove(id);
      draft.tell({ type: 'healing.back', subject: id, message: `${id} is well again`, data: { returns } });
    });
    this.wellbeing.back(id, nowMs);
    this.tried = '';
    decide({ subject: id, what: 'Use the server again', why: 'it is well', inputs: { returns }, told: true });
  }

  private returnsOf({ origin }: Pick<OutOfService, 'origin'>): 'never' | 'ask' | 'auto' {
    const { return: asked } = this.records.policy;
    if (asked === 'by-origin') return origin === 'twin' ? 'auto' : 'ask';
    return asked;
  }

  /** Asks for what is to change. When to look again, in ms. */
  private async act(run: LoopRun, nowMs: number): Promise<number[]> {
    const { infrastructure } = this.infrastructure.current;
    const plan = this.view.comingPlan;
    const out = this.records.out();
    const lost = out.filter((part) => part.lost !== null && uses(plan, infrastructure, part));
    const drained = out.filter(
      (part) =>
        part.lost === null && part.maintenance !== null && uses(plan, infrastructure, part) && !this.isAsked(part),
    );
    const back = out.filter(
      (part) =>
        part.lost === null && part.maintenance === null && this.returnsOf(part) === 'auto' && !this.isAsked(part),
    );
    const isPending = lost.length + drained.length + back.length + this.records.notKept().length > 0;
    if (!isPending) return [];
    if (nowMs < this.notBeforeMs) return [this.notBeforeMs - nowMs];
    if (lost.length > 0) return this.ask(run, nowMs, lost, { when_short: 'leave-out' }, 'Run elsewhere what was lost');
    if (drained.length > 0) return this.ask(run, nowMs, drained, {}, 'Drain for maintenance');
    // What is under way decides first how much room there is.
    if (this.accounts.atRest === undefined) return [LOOK_MS];
    const [part] = back;
    if (part) {
      const request = returnTo(part, plan, infrastructure);
      if (request) return this.ask(run, nowMs, [part], request, 'Return what left it');
      await this.records.commit((draft) => draft.remove(part.id));
      return [1];
    }
    return this.deployAgain(run, nowMs);
  }

  /** Whether its change is under way, or over and not settled yet. */
  private isAsked({ operation_id }: OutOfService): boolean {
    return operation_id !== null && this.deployer.operation(operation_id) !== undefined;
  }

  private async ask(
    { decide, step }: LoopRun,
    nowMs: number,
    parts: readonly OutOfService[],
    request: PlanChange,
    what: string,
  ): Promise<number[]> {
    const names = parts.map((part) => part.id);
    const heldBackMs = this.heldBack(names[0]!, decide, nowMs);
    if (heldBackMs !== null) return [heldBackMs];
    const known = parts
      .map(({ operation_id }) => operation_id)
      .find((id) => id !== null && !this.deployer.operation(id));
    const id = known ?? newId('op');
    await this.records.commit((draft) => {
      for (const part of parts) draft.put({ ...part, operation_id: id });
    });
    const subject = names.join(', ');
    const why = parts.map((part) => part.lost?.why ?? part.maintenance?.reason ?? 'it is well again').join('; ');
    const refusal = await step(this.change(request, id));
    if (refusal === null) {
      this.changesMs.push(nowMs);
      this.told.delete(subject);
      decide({ subject, what, why, inputs: { operation: id } });
      return [LOOK_MS];
    }
    const isReturn = parts.every((part) => part.lost === null && part.maintenance === null);
    await this.records.commit((draft) => {
      for (const part of parts) {
        // What cannot return stays where it is.
        if (isReturn) draft.remove(part.id);
        else draft.put({ ...part, operation_id: null });
      }
      if (this.told.get(subject) !== refusal && !isReturn)
        draft.tell({ type: 'healing.refused', subject: names[0]!, message: refusal, data: {} });
    });
    this.told.set(subject, refusal);
    decide({ subject, what: `${what}: not possible`, why: refusal, inputs: {}, told: !isReturn });
    return [this.retryLater()];
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

  /** Chains that are not kept run again as soon as a plan has room for them. */
  private async deployAgain({ decide, step }: LoopRun, nowMs: number): Promise<number[]> {
    const chains = this.records
      .notKept()
      .map(({ priority: _p, because: _b, constraint: _c, since_ms: _s, ...chain }) => chain)
      .slice(0, 64);
    const plan = this.view.comingPlan;
    const { revision } = this.infrastructure.current;
    const out = this.records.out().flatMap(({ id, lost, maintenance }) => (lost || maintenance ? [id] : []));
    const of = JSON.stringify([plan?.id, revision, out, chains]);
    if (chains.length === 0 || of === this.tried) return [];
    const request: PlanChange = { chains, when_short: 'leave-out' };
    const found = await step(
      this.plans.tryOut(PlanRequest.parse(request), plan, this.view.comingDrivers).catch(refused),
    );
    const asked = new Set(chains.map(({ chain_id }) => chain_id));
    const again = found?.feasible ? found.chains.filter(({ chain_id }) => asked.has(chain_id)) : [];
    if (again.length === 0) {
      this.tried = of;
      return [];
    }
    const subject = again.map(({ definition }) => definition.name).join(', ');
    const heldBackMs = this.heldBack(subject, decide, nowMs);
    if (heldBackMs !== null) return [heldBackMs];
    this.tried = of;
    const refusal = await step(this.change(request, newId('op')));
    if (refusal === null) this.changesMs.push(nowMs);
    const what = refusal === null ? 'Deploy again' : 'Deploy again: not possible';
    decide({ subject, what, why: refusal ?? 'there is room for it again', inputs: { chains: again.length } });
    return refusal === null ? [LOOK_MS] : [this.retryLater()];
  }

  /** How long the limit of changes holds this one back, in ms; null: it does not. */
  private heldBack(subject: string, decide: LoopRun['decide'], nowMs: number): number | null {
    const { max_changes } = this.records.policy;
    this.changesMs = this.changesMs.filter((atMs) => nowMs - atMs < WINDOW_MS);
    if (this.changesMs.length < max_changes) {
      this.told.delete('limit');
      return null;
    }
    const why = `${this.changesMs.length} changes within 10 minutes are the limit`;
    const decision: Decision = { subject, what: 'Hold back', why, inputs: { max_changes } };
    if (this.told.get('limit') !== why) decide(decision);
    this.told.set('limit', why);
    return this.changesMs[0]! + WINDOW_MS - nowMs;
  }

  private retryLater(): number {
    const ms = Math.min(MOST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.failures++);
    this.notBeforeMs = performance.now() + ms;
    return ms;
  }
}

function refused(error: unknown): null {
  if (error instanceof ProblemError && error.status < 500) return null;
  throw error;
}
