import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import {
  type BoardPlace,
  type ImplementationChoice,
  type LoadResult,
  type NfRef,
  type Operation,
  type Plan,
  PlanRequest,
  type Reconfiguration,
  type ReconfigurationRequest,
} from '@orrery/contract';
import { newId } from '../../platform/ids.js';
import { LOG, type Log } from '../../platform/log.js';
import { conflict, invalid, notFound } from '../../platform/problem.js';
import { Signal } from '../../platform/signal.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { DEPLOYER, type Deployer, type PlanChange } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { isOver } from '../../ports/operation-log.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import {
  boardOf,
  brokenObjectives,
  type Decision,
  decide,
  decideBack,
  instancesOf,
  nameOf,
  overrunBy,
} from './decision.js';
import { over, stageEvents, started } from './events.js';
import { Records } from './records.js';
import { requireSlot } from './slots.js';
import { begun, finished, isSteering, noStages, type STAGES } from './stages.js';

/** Looks again after so long though nothing was heard. */
const FOLLOW_MS = 1000;

/** Why a reconfiguration begins, and how important the one who asks is. */
export interface Cause {
  readonly cause: Reconfiguration['cause'];
  readonly trigger: string;
  readonly policy_id: string | null;
  readonly by: string;
  readonly priority: number;
  readonly priorityOf: (pipelineId: string) => number;
  /** Why a displaced NF cannot be software; null: it can. */
  readonly cannotLeave: (nf: NfRef) => string | null;
}

interface Begun {
  readonly decision: Decision;
  readonly cause: Cause;
  readonly how: Pick<BoardPlace, 'load' | 'policy'>;
}

/**
 * Moves NFs between software and boards in the four stages of CoNFV IV-D, one reconfiguration at a time: detection,
 * update (what a slot runs moves or stops, traffic is led round), configuration (load and verify), response (traffic is
 * led to the board). Each change is an operation of its own whose old path stays until the new one works; a change that
 * does not come about is taken back.
 */
@Injectable()
export class ReconfigurationManager implements OnApplicationBootstrap, OnApplicationShutdown {
  private active: Promise<void> | null = null;
  private closed = false;
  private readonly news = new Signal();

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(Records) private readonly records: Records,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.view.onChange(() => this.news.wake());
    const detail =
      'The server was restarted meanwhile: the operation that was under way goes on, later stages were not begun.';
    for (const run of this.records.all().filter(({ state }) => state === 'running'))
      await this.close(finished(run, 'failed', detail, Date.now()));
  }

  async onApplicationShutdown(): Promise<void> {
    this.closed = true;
    this.news.wake();
    await this.active;
  }

  get busy(): boolean {
    return this.active !== null;
  }

  /** Throws 404 and 409; what is refused for its effect is recorded, not thrown. */
  async request(request: ReconfigurationRequest, cause: Cause): Promise<Reconfiguration> {
    const plan = this.view.comingPlan;
    this.requireIdle();
    if (instancesOf(plan, request.nf).length === 0)
      throw notFound('NF in what is deployed', `${request.nf.pipeline_id} ${request.nf.node_id}`);
    if (request.slot) requireSlot(this.boards, request.slot);
    const here = boardOf(plan, request.nf);
    if (request.to === 'software' && !here)
      throw invalid([{ pointer: '/to', detail: 'it is software already', code: 'no-change' }]);
    if (request.to === 'board' && here && (!request.slot || nameOf(request.slot) === nameOf(here)))
      throw invalid([{ pointer: '/slot', detail: `it is on ${nameOf(here)} already`, code: 'no-change' }]);
    return this.begin({ decision: await this.decide(request), cause, how: request });
  }

  /** Nobody is displaced while there is room. */
  private async decide(request: ReconfigurationRequest): Promise<Decision> {
    const plan = this.view.comingPlan;
    const gently = decide(plan, { ...request, displaces: [] });
    if (request.to === 'software' || request.slot || request.displaces.length === 0) return decide(plan, request);
    const [change] = changesOf(gently);
    const found = await this.plans.make(PlanRequest.parse(change), plan);
    return found.feasible ? gently : decide(plan, request);
  }

  /** Takes back what an earlier reconfiguration did, now that the load has fallen. */
  async back(nf: NfRef, displaced: readonly NfRef[], cause: Cause): Promise<Reconfiguration | null> {
    const plan = this.view.comingPlan;
    const here = boardOf(plan, nf);
    if (this.busy || !here) return null;
    return this.begin({ decision: decideBack(plan, nf, displaced, here), cause, how: here });
  }

  /** Leads the chains of slots that do not work back over software. */
  async fallBack(cause: Cause): Promise<Reconfiguration | null> {
    const broken = new Set(this.boards.broken().map(nameOf));
    const lost = (this.view.comingPlan?.instances ?? []).filter(({ board }) => board && broken.has(nameOf(board)));
    const [first] = lost;
    if (this.busy || !first) return null;
    const moves = lost.map(({ pipeline_id, node_id, nf, board }) => ({
      pipeline_id,
      node_id,
      nf,
      from: nameOf(board!),
      to: 'software',
    }));
    const { board, slot } = first.board!;
    return this.begin({ decision: { leave: [], load: [], moves, slot: { board, slot } }, cause, how: first.board! });
  }

  private requireIdle(): void {
    if (this.busy) throw conflict('Another reconfiguration is under way; wait for its end.');
  }

  private async begin(it: Begun): Promise<Reconfiguration> {
    this.requireIdle();
    let free = () => {};
    this.active = new Promise((resolve) => {
      free = resolve;
    });
    const { decision, cause, how } = it;
    const now = Date.now();
    const { cause: why, trigger, policy_id } = cause;
    const run = begun(
      {
        id: newId('rc'),
        policy_id,
        cause: why,
        trigger,
        state: 'running',
        slot: decision.slot,
        load: how.load,
        policy: how.policy,
        moves: [...decision.moves],
        stages: noStages(),
        loads: [],
        packets_lost: null,
        detail: null,
        started_ms: now,
        ended_ms: null,
      },
      'detection',
      now,
      { detail: trigger },
    );
    const done = () => {
      this.active = null;
      free();
    };
    try {
      await this.records.write(run, started(run, cause.by), ...stageEvents(null, run));
    } catch (error) {
      done();
      throw error;
    }
    void this.carryOut(run, it)
      .catch((error: unknown) => this.log.error({ error, run: run.id }, 'a reconfiguration was lost sight of'))
      .finally(done);
    return run;
  }

  private async carryOut(run: Reconfiguration, it: Begun): Promise<void> {
    try {
      const refusal = await this.refusalOf(it);
      if (refusal) return await this.close(finished(run, 'refused', refusal, Date.now()));
      await this.steps(run, it);
    } catch (error) {
      const latest = this.records.find(run.id) ?? run;
      await this.close(finished(latest, 'failed', (error as Error).message, Date.now()));
    }
  }

  /** Plans both changes without doing them. */
  private async refusalOf({ decision, cause, how }: Begun): Promise<string | null> {
    const loaded = decision.load.length > 0 ? decision.load : decision.leave;
    const moving = new Set(loaded.map(({ pipeline_id }) => pipeline_id));
    const [overrun] = decision.load.length > 0 ? overrunBy(this.view.comingPlan, { ...decision, ...how }) : [];
    if (overrun) return `A full load would take ${overrun} off its board: it is not among what may be displaced.`;
    for (const nf of decision.leave) {
      const why = decision.load.length > 0 ? cause.cannotLeave(nf) : null;
      if (why) return why;
    }
    let plan = this.view.comingPlan;
    for (const change of changesOf(decision)) {
      const next = await this.plans.make(PlanRequest.parse(change), plan);
      if (!next.feasible) return refusedPlan(next);
      const broken = brokenObjectives(plan, next, moving, cause.priority, cause.priorityOf);
      const [slo] = cause.cause === 'fallback' ? [] : broken;
      if (slo)
        return `Objective ${slo.slo_id} of ${slo.pipeline_id}, which is more important, would be missed: ${Math.round(slo.predicted)} ${slo.unit}, target ${slo.target}.`;
      plan = next;
    }
    return null;
  }

  private async steps(run: Reconfiguration, it: Begun): Promise<void> {
    const { decision, cause } = it;
    let latest = run;
    const stage = async (name: (typeof STAGES)[number], more: Parameters<typeof begun>[3] = {}) => {
      const next = begun(latest, name, Date.now(), more);
      await this.records.write(next, ...stageEvents(latest, next));
      latest = next;
    };
    const before = this.view.comingPlan;
    const fallback = decision.leave.length === 0 && decision.load.length === 0;
    if (decision.leave.length > 0 || fallback) {
      const change = fallback ? {} : { implementations: [...decision.leave] };
      const operation = await this.deployer.change(change, {
        id: `${run.id}.update`,
        kind: 'reconfigure',
        by: cause.by,
      });
      const who = decision.moves.filter(({ to }) => to === 'software').map(({ nf }) => nf);
      await stage('update', { operation_id: operation.id, detail: `${who.join(', ')} to software` });
      const ended = await this.follow(operation, async (it) => {
        const last = decision.load.length === 0 && isSteering(it) && latest.stages[3]!.state === 'pending';
        if (last) await stage('response', { operation_id: operation.id, detail: 'traffic led to software' });
      });
      if (ended.state !== 'COMPLETED') return this.rollBack(latest, it, before, whyNot(ended));
    }
    if (decision.load.length > 0) {
      const known = this.lastLoads();
      const operation = await this.deployer
        .change(
          { implementations: [...decision.load] },
          { id: `${run.id}.configuration`, kind: 'reconfigure', by: cause.by },
        )
        .catch((error: Error) => error);
      if (operation instanceof Error) return this.rollBack(latest, it, before, operation.message);
      const what = decision.moves.find(({ to }) => to !== 'software');
      const detail = `${what?.nf ?? 'module'}, ${run.load} load of ${decision.slot ? nameOf(decision.slot) : 'a slot'}`;
      await stage('configuration', { operation_id: operation.id, detail });
      const ended = await this.follow(operation, async (it) => {
        const last = isSteering(it) && latest.stages[3]!.state === 'pending';
        if (last) await stage('response', { operation_id: operation.id, detail: 'traffic led to the board' });
      });
      latest = this.withLoad(latest, decision, known);
      if (ended.state !== 'COMPLETED') return this.rollBack(latest, it, before, whyNot(ended));
    }
    await this.close(finished(latest, 'completed', null, Date.now()));
  }

  private lastLoads(): ReadonlyMap<string, LoadResult | null> {
    return new Map(this.boards.accelerators().map(({ id, last_load }) => [id, last_load]));
  }

  private withLoad(
    run: Reconfiguration,
    { load }: Decision,
    known: ReadonlyMap<string, LoadResult | null>,
  ): Reconfiguration {
    const nf = load[0];
    const board = nf && boardOf(this.view.comingPlan, nf);
    const last = board ? this.boards.lastLoad(board.board) : null;
    if (
      !board ||
      !last ||
      isDeepStrictEqual(last, known.get(board.board)) ||
      (last.slot !== null && last.slot !== board.slot)
    )
      return run;
    return { ...run, slot: { board: board.board, slot: board.slot }, loads: [last], packets_lost: last.lost };
  }

  /** Tells how an operation goes until it is over or waits for what does not come about. */
  private async follow(operation: Operation, look: (now: Operation) => Promise<void>): Promise<Operation> {
    let now = operation;
    while (!this.closed) {
      now = this.deployer.operation(operation.id) ?? now;
      await look(now);
      if (isOver(now) || now.state === 'FAILED_TEMP') return now;
      await this.news.wait(FOLLOW_MS);
    }
    throw new Error('the server is being stopped');
  }

  /**
   * What was in force before the first change takes its place again; an NF whose slot does not work, as after a load that
   * failed, is software then.
   */
  private async rollBack(run: Reconfiguration, it: Begun, before: Plan | null, why: string): Promise<void> {
    const places = it.decision.moves.map((nf) => {
      const place = boardOf(before, nf);
      return { nf, place: place && !this.isBroken(place) ? place : null };
    });
    try {
      const leave = places.filter(({ nf, place }) => this.isElsewhere(nf, place));
      if (leave.length > 0)
        await this.undo(
          leave.map(({ nf }) => toSoftware(nf, run)),
          it,
          before,
        );
      const load = places.filter(({ nf, place }) => place && !boardOf(this.view.comingPlan, nf));
      if (load.length > 0)
        await this.undo(
          load.map(({ nf, place }) => toBoard(nf, place!)),
          it,
          before,
        );
      await this.close(finished(run, 'rolled-back', why, Date.now()));
    } catch (error) {
      const detail = `${why}; and it could not be taken back: ${(error as Error).message}`;
      await this.close(finished(run, 'failed', detail, Date.now()));
    }
  }

  /** Whether the NF is in a slot where it was not before. */
  private isElsewhere(nf: NfRef, before: BoardPlace | null): boolean {
    const here = boardOf(this.view.comingPlan, nf);
    return here !== null && (before === null || nameOf(before) !== nameOf(here));
  }

  private async undo(implementations: ImplementationChoice[], { cause }: Begun, before: Plan | null): Promise<void> {
    const operation = await this.deployer.change(
      { implementations },
      { id: newId('op'), kind: 'reconfigure', by: cause.by },
      before,
    );
    const ended = await this.follow(operation, async () => undefined);
    if (ended.state !== 'COMPLETED') throw new Error(whyNot(ended));
  }

  private isBroken(place: BoardPlace): boolean {
    return this.boards.broken().some((slot) => nameOf(slot) === nameOf(place));
  }

  private async close(run: Reconfiguration): Promise<void> {
    const before = this.records.find(run.id) ?? null;
    await this.records.write(run, ...stageEvents(before, run), over(run));
  }
}

function toSoftware({ pipeline_id, node_id }: NfRef, { load, policy }: Reconfiguration): ImplementationChoice {
  return { pipeline_id, node_id, on: 'software', load, policy };
}

function toBoard({ pipeline_id, node_id }: NfRef, { board, slot, load, policy }: BoardPlace): ImplementationChoice {
  return { pipeline_id, node_id, on: 'board', slot: { board, slot }, load, policy };
}

function whyNot({ error }: Operation): string {
  return error?.detail ?? 'the operation did not come about';
}

function changesOf({ leave, load }: Decision): PlanChange[] {
  const lists = [leave, load].filter((list) => list.length > 0);
  return lists.length === 0 ? [{}] : lists.map((list) => ({ implementations: [...list] }));
}

function refusedPlan({ problems, conflicts }: Plan): string {
  const problem = problems.find(({ severity }) => severity === 'error');
  if (problem) return `${problem.pointer}: ${problem.message}`;
  const [short] = conflicts;
  if (!short) return 'There is no plan for it.';
  return `${short.constraint} at ${short.where} needs ${short.needed} ${short.unit}, there is ${short.available} ${short.unit}.`;
}
