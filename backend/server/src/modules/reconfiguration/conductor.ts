import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import type { BoardPlace, ImplementationChoice, NfRef, Operation, Plan, Reconfiguration } from '@orrery/contract';
import { LOG, type Log } from '../../platform/log.js';
import { ProblemError } from '../../platform/problem.js';
import { isPassing } from '../../platform/redis.js';
import { Signal } from '../../platform/signal.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { DEPLOYER, type Deployer, type PlanChange } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { isOver, OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { type Change, type ChangeName, type Course, changesOf, detailOf, operationIdOf } from './course.js';
import { boardOf, nameOf, placedAt, softwareFormOf } from './decision.js';
import { Detection } from './detection.js';
import { over, resumed, stageEvents } from './events.js';
import { Records } from './records.js';
import { begun, finished, steeringSince } from './stages.js';

/** Looks again after so long though nothing was heard. */
const FOLLOW_MS = 1000;
/** After a restart agents and fabric come back within this, or are not waited for. */
const RETURN_MS = 5000;
/** What a part that is away makes fail, as a store that restarts, is tried again so long after. */
const RETRY_MS = 1000;

/** A reconfiguration that is not over, as it is stored now. */
interface UnderWay {
  readonly run: Reconfiguration;
  readonly course: Course;
}

/** The server stops: what is stored is taken up again by the next one. */
class Stopping extends Error {}

/**
 * Carries out what is stored of a reconfiguration. Every step may be the first after a restart: what was done is found by
 * its operation's id, and what was not is done.
 */
@Injectable()
export class Conductor {
  private readonly stopping = new AbortController();
  private readonly news = new Signal();
  private readonly sinceMs = Date.now();

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(Records) private readonly records: Records,
    @Inject(Detection) private readonly detection: Detection,
  ) {
    view.onChange(() => this.news.wake());
    boards.onChange(() => this.news.wake());
  }

  stop(): void {
    this.stopping.abort();
    this.news.wake();
  }

  /** Resolves when the reconfiguration is over or the server stops. */
  carryOut(id: string): Promise<void> {
    return this.toItsEnd(id, () => this.proceed(id));
  }

  /** As `carryOut`, for one that an earlier server began. */
  async takeUp(id: string): Promise<void> {
    await this.toItsEnd(id, async () => {
      const it = await this.records.underWay(id);
      if (!it) return;
      if (!it.course)
        return this.close(it.run, 'failed', 'The server was restarted; what was to be done is not known.');
      await this.records.write(it.run, it.course, resumed(it.run));
      await this.awaitBoards(it.run);
    });
    await this.carryOut(id);
  }

  /** What fails in a way that trying again does not mend is taken back, and closed as failed where that fails, too. */
  private async toItsEnd(id: string, work: () => Promise<void>): Promise<void> {
    const fault = await this.persist(id, work);
    if (fault === null) return;
    const again = await this.persist(id, () => this.takeBack(id, fault));
    if (again !== null) await this.persist(id, () => this.giveUp(id, notTakenBack(fault, again)));
  }

  /**
   * Does the work from what is stored, again while the store is away for as long as it takes: given up half done it would be
   * neither done nor taken back. Gives the message of any other error; null: it was done, or the server stops.
   */
  private async persist(id: string, work: () => Promise<void>): Promise<string | null> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await work();
        return null;
      } catch (error) {
        if (error instanceof Stopping) return null;
        if (!isPassing(error)) {
          this.log.error({ error, run: id }, 'a reconfiguration failed unexpectedly');
          return (error as Error).message;
        }
        this.log.warn({ error: (error as Error).message, run: id }, 'a reconfiguration is tried again');
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    return null;
  }

  private async proceed(id: string): Promise<void> {
    const it = await this.current(id);
    if (!it) return;
    const { run, course } = it;
    if (course.failure !== null) return this.takeBack(id, course.failure);
    const changes = changesOf(course.decision);
    if (!(await this.operations.get(operationIdOf(id, changes[0]!.stage)))) {
      const refusal = await this.detection.refusalOf(run, course).catch(asReason);
      if (refusal !== null) return this.close(run, 'refused', refusal);
    }
    for (const change of changes) {
      const failure = await this.make(id, change);
      if (failure !== null) return this.takeBack(id, failure);
    }
    await this.close(this.withLoad((await this.current(id))!), 'completed', null);
  }

  /** Why the change did not come about; null: it did. */
  private async make(id: string, change: Change): Promise<string | null> {
    const { stage, request, leads } = change;
    const operation = await this.ask(id, stage, request).catch(asReason);
    if (typeof operation === 'string') return operation;
    await this.begin(id, stage, operation.id, operation.started_ms);
    const ended = await this.follow(operation, async (now) => {
      const since = leads ? steeringSince(now) : null;
      if (since !== null) await this.begin(id, 'response', operation.id, since);
    });
    return ended.state === 'COMPLETED' ? null : whyNot(ended);
  }

  private async ask(id: string, name: ChangeName, request: PlanChange, before: Plan | null = null): Promise<Operation> {
    const { course } = (await this.current(id))!;
    return this.deployer.change(request, { id: operationIdOf(id, name), kind: 'reconfigure', by: course.by }, before);
  }

  /** Stores that a stage began, unless that is stored already. */
  private async begin(
    id: string,
    stage: 'update' | 'configuration' | 'response',
    operation_id: string,
    sinceMs: number,
  ): Promise<void> {
    const it = (await this.current(id))!;
    if (it.run.stages.find((record) => record.stage === stage)?.state !== 'pending') return;
    const run = this.withLoad(it);
    const next = begun(run, stage, sinceMs, { operation_id, detail: detailOf(stage, run) });
    await this.records.write(next, it.course, ...stageEvents(it.run, next));
  }

  /** Tells how an operation goes until it is over or waits for what does not come about. */
  private async follow(operation: Operation, look?: (now: Operation) => Promise<void>): Promise<Operation> {
    for (;;) {
      const { id } = operation;
      const now = this.deployer.operation(id) ?? (await this.operations.get(id)) ?? operation;
      await look?.(now);
      if (isOver(now) || this.isStuck(now)) return now;
      if (this.stopping.signal.aborted) throw new Stopping();
      await this.news.wait(FOLLOW_MS);
    }
  }

  /** What an operation missed before a restart may be there again. */
  private isStuck({ state, updated_ms }: Operation): boolean {
    return state === 'FAILED_TEMP' && (updated_ms >= this.sinceMs || Date.now() >= this.sinceMs + RETURN_MS);
  }

  /**
   * What was in force before the first change takes its place again; an NF whose slot does not work, as after a load that
   * failed, is software then.
   */
  private async takeBack(id: string, why: string): Promise<void> {
    const it = await this.current(id);
    if (!it) return;
    const { course } = it;
    if (course.failure === null) await this.records.write(this.withLoad(it), { ...course, failure: why });
    const failure = await this.restore(id).catch(asReason);
    const { run } = (await this.current(id))!;
    if (failure === null) await this.close(run, 'rolled-back', why);
    else await this.close(run, 'failed', notTakenBack(why, failure));
  }

  private async giveUp(id: string, detail: string): Promise<void> {
    const it = await this.records.underWay(id);
    if (it) await this.close(it.run, 'failed', detail);
  }

  /** Why it could not be; null: everything is as before. */
  private async restore(id: string): Promise<string | null> {
    const { run, course } = (await this.current(id))!;
    const before = course.plan_before === null ? null : await this.plans.get(course.plan_before);
    const places = course.decision.moves.map((nf) => {
      const place = boardOf(before, nf);
      return { nf, place: place && !this.isBroken(place) ? place : null };
    });
    const leave = places.filter(({ nf, place }) => this.isElsewhere(nf, place));
    const software = leave.map(({ nf }) => toSoftware(nf, run, softwareFormOf(before, nf)));
    const left = await this.undo(id, 'back-to-software', software, before);
    if (left !== null) return left;
    const load = places.filter(({ nf, place }) => place && !boardOf(this.view.comingPlan, nf));
    const board = load.map(({ nf, place }) => toBoard(nf, place!));
    return this.undo(id, 'back-to-board', board, before);
  }

  /** Why the change did not come about; null: it did, or none was needed. */
  private async undo(
    id: string,
    name: ChangeName,
    implementations: ImplementationChoice[],
    before: Plan | null,
  ): Promise<string | null> {
    const accepted = await this.operations.get(operationIdOf(id, name));
    if (!accepted && implementations.length === 0) return null;
    const ended = await this.follow(accepted ?? (await this.ask(id, name, { implementations }, before)));
    return ended.state === 'COMPLETED' ? null : whyNot(ended);
  }

  /** Whether the NF is in a slot where it was not before. */
  private isElsewhere(nf: NfRef, before: BoardPlace | null): boolean {
    const here = boardOf(this.view.comingPlan, nf);
    return here !== null && (before === null || nameOf(before) !== nameOf(here));
  }

  private isBroken(place: BoardPlace): boolean {
    return this.boards.broken().some((slot) => nameOf(slot) === nameOf(place));
  }

  /** The run with the slot that the plan found, and with what its board says of the load once there is something new. */
  private withLoad({ run, course }: UnderWay): Reconfiguration {
    const nf = course.decision.load[0];
    const board = nf && boardOf(this.view.comingPlan, nf);
    if (!board) return run;
    const placed = placedAt(run, nf, board);
    const last = this.boards.lastLoad(board.board);
    if (!last || (last.slot !== null && last.slot !== board.slot)) return placed;
    if (isDeepStrictEqual(last, course.loads_before[board.board])) return placed;
    return { ...placed, loads: [last], packets_lost: last.lost };
  }

  /** Nothing is known of boards whose agents have not come back: not what is broken, nor what was loaded. */
  private async awaitBoards(run: Reconfiguration): Promise<void> {
    const used = (this.view.comingPlan?.instances ?? []).flatMap(({ board }) => board ?? []);
    const names = new Set([...used, ...(run.slot ? [run.slot] : [])].map(({ board }) => board));
    const deadline = Date.now() + RETURN_MS;
    const silent = () => {
      const broken = new Set(this.boards.broken().map(({ board }) => board));
      return this.boards.accelerators().some(({ id, state }) => names.has(id) && state === 'absent' && !broken.has(id));
    };
    while (silent() && Date.now() < deadline) {
      if (this.stopping.signal.aborted) throw new Stopping();
      await this.news.wait(deadline - Date.now());
    }
  }

  private async current(id: string): Promise<UnderWay | null> {
    const it = await this.records.underWay(id);
    return it?.course ? { run: it.run, course: it.course } : null;
  }

  private close(run: Reconfiguration, state: Exclude<Reconfiguration['state'], 'running'>, detail: string | null) {
    const now = finished(run, state, detail, Date.now());
    return this.records.write(now, null, ...stageEvents(run, now), over(now));
  }
}

/** The words of a refusal; anything else is no reason to give up. */
function asReason(error: unknown): string {
  if (error instanceof ProblemError && error.status < 500) return error.message;
  throw error;
}

function toSoftware(nf: NfRef, run: Reconfiguration, on: 'software' | 'container'): ImplementationChoice {
  return { pipeline_id: nf.pipeline_id, node_id: nf.node_id, on, load: run.load, policy: run.policy };
}

function toBoard({ pipeline_id, node_id }: NfRef, { board, slot, load, policy }: BoardPlace): ImplementationChoice {
  return { pipeline_id, node_id, on: 'board', slot: { board, slot }, load, policy };
}

function notTakenBack(why: string, failure: string): string {
  return `${why}; and it could not be taken back: ${failure}`;
}

function whyNot({ error }: Operation): string {
  return error?.detail ?? 'the operation did not come about';
}
