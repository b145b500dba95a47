import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Operation, Reconfiguration } from '@orrery/contract';
import type { ControlLoop } from '../../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../../platform/control-loop/control-loops.js';
import type { LoopRun, RunOutcome } from '../../../platform/control-loop/definition.js';
import { LOG, type Log } from '../../../platform/log.js';
import { isPassing } from '../../../platform/passing-error.js';
import { Detection } from '../decision/detection.js';
import { over, resumed, stageEvents } from '../records/events.js';
import { Records } from '../records/records.js';
import { BoardNews } from './board-news.js';
import { ChangeMaker, type Progress, RETURN_MS } from './change-maker.js';
import { type Change, changesOf, detailOf } from './changes.js';
import type { Course } from './course.js';
import { begun, finished, steeringSince } from './stages.js';
import { TakeBack } from './take-back.js';

/** Polling period in the absence of events. */
const FOLLOW_MS = 1000;
/** A run fails while a dependency is away, such as a restarting store. */
const BACKOFF = { firstMs: 1000, mostMs: 5000 };
const DEADLINE_MS = 60_000;

/**
 * Carries out stored reconfigurations, each in its own lane. Every run may be the first after a restart: what was done is
 * found by its operation id, and the rest is done.
 */
@Injectable()
export class Conductor implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  /** Monotonic clock. */
  private readonly startedAtMs = performance.now();
  /** Runs of an earlier server that have not been resumed; whether that was logged. */
  private readonly left = new Map<string, { told: boolean }>();
  /** Unfinished runs that passed detection. */
  private readonly detected = new Set<string>();

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(LOG) private readonly log: Log,
    @Inject(Records) private readonly records: Records,
    @Inject(Detection) private readonly detection: Detection,
    @Inject(ChangeMaker) private readonly changes: ChangeMaker,
    @Inject(TakeBack) private readonly takeBack: TakeBack,
    @Inject(BoardNews) private readonly boards: BoardNews,
  ) {
    this.loop = loops.add({
      id: 'reconfiguration',
      title: 'Reconfiguration',
      purpose: 'Carries out reconfigurations step by step, and rolls back those that fail.',
      tickMs: FOLLOW_MS,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      run: (run) => this.look(run),
    });
    boards.onChange(() => this.wakeAll());
  }

  /** Oldest first. */
  onApplicationBootstrap(): void {
    const running = this.records.all().filter(({ state }) => state === 'running');
    for (const { id } of running.toReversed()) {
      this.left.set(id, { told: false });
      this.loop.wake(id);
    }
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  carryOut(id: string): void {
    this.loop.wake(id);
  }

  private wakeAll(): void {
    for (const key of this.loop.keys) this.loop.wake(key);
  }

  private async look(loop: LoopRun): Promise<RunOutcome | undefined> {
    const id = loop.key;
    try {
      return await this.goOn(loop);
    } catch (error) {
      if (loop.signal.aborted || isPassing(error)) throw error;
      this.log.error({ error, run: id }, 'a reconfiguration failed unexpectedly');
      return this.afterFault(loop, (error as Error).message);
    }
  }

  private async goOn(loop: LoopRun): Promise<RunOutcome | undefined> {
    const it = await this.records.underWay(loop.key);
    if (!it) return this.forget(loop.key);
    const { run, course } = it;
    if (!course) return this.close(run, 'failed', 'The server restarted and the remaining steps are not known.');
    const wait = await this.returnOf(run, course);
    if (wait) return wait;
    if (course.failure !== null) return this.goBack(loop, run, course, course.failure);
    return this.goForward(loop, run, course);
  }

  /** After a restart nothing is decided until the boards have reported, or for some seconds. */
  private async returnOf(run: Reconfiguration, course: Course): Promise<RunOutcome | undefined> {
    const left = this.left.get(run.id);
    if (!left) return undefined;
    if (!left.told) await this.records.write(run, course, resumed(run));
    left.told = true;
    const waitMs = this.startedAtMs + RETURN_MS - performance.now();
    if (waitMs > 0 && waitMs <= RETURN_MS && this.boards.isSilent(run)) return { again: waitMs };
    this.left.delete(run.id);
    return undefined;
  }

  private async goForward(loop: LoopRun, run: Reconfiguration, course: Course): Promise<RunOutcome | undefined> {
    const changes = changesOf(course.decision);
    if (!this.detected.has(run.id) && !(await this.changes.accepted(run.id, changes[0]!.stage))) {
      const refusal = await loop.step(this.detection.refusalOf(run, course));
      if (refusal !== null) {
        loop.decide({ subject: run.id, what: 'Refused', why: refusal, inputs: { trigger: run.trigger } });
        return this.close(run, 'refused', refusal);
      }
      this.detected.add(run.id);
    }
    await this.noteLoads(run.id, course);
    for (const change of changes) {
      const progress = await this.make(loop, run.id, course, change);
      if (progress === 'waiting') return undefined;
      if (progress !== 'done') return this.goBack(loop, run, course, progress.failed);
    }
    const now = await this.records.underWay(run.id);
    if (!now) return undefined;
    const done = this.boards.withLoad(now.run, course);
    return this.close(done, 'completed', done.loads.flatMap(({ error }) => error ?? [])[0] ?? null);
  }

  /** A load that was cut off is the latest one only until it is made again. */
  private async noteLoads(id: string, course: Course): Promise<void> {
    const stored = this.records.find(id);
    if (!stored) return;
    const next = this.boards.withLoad(stored, course);
    const cutOff = next.loads.filter(({ error }) => error !== null).length;
    if (cutOff > stored.loads.filter(({ error }) => error !== null).length) await this.records.write(next, course);
  }

  private async make(loop: LoopRun, id: string, course: Course, change: Change): Promise<Progress> {
    const { stage, request, leads } = change;
    const operation = await loop.step(this.changes.ask({ runId: id, name: stage, by: course.by, request }));
    if (!operation) {
      loop.decide({
        subject: id,
        what: 'Wait',
        why: 'another reconfiguration is applying its change',
        inputs: { stage },
      });
      return 'waiting';
    }
    if ('failed' in operation) return operation;
    await this.begin(loop, course, stage, operation, operation.started_ms);
    const sinceMs = leads ? steeringSince(operation) : null;
    if (sinceMs !== null) await this.begin(loop, course, 'response', operation, sinceMs);
    return this.changes.progressOf(operation);
  }

  /** Stores that a stage has begun, unless it is stored already. */
  private async begin(
    loop: LoopRun,
    course: Course,
    stage: Change['stage'] | 'response',
    { id: operation_id }: Operation,
    sinceMs: number,
  ): Promise<void> {
    const stored = this.records.find(loop.key);
    if (stored?.stages.find((record) => record.stage === stage)?.state !== 'pending') return;
    const run = this.boards.withLoad(stored, course);
    const next = begun(run, stage, sinceMs, { operation_id, detail: detailOf(stage, run) });
    await this.records.write(next, course, ...stageEvents(stored, next));
    loop.decide({ subject: run.id, what: `Begins ${stage}`, why: run.trigger, inputs: { operation_id } });
  }

  private async goBack(loop: LoopRun, run: Reconfiguration, course: Course, why: string) {
    if (course.failure === null) {
      loop.decide({ subject: run.id, what: 'Roll back', why, inputs: { trigger: run.trigger } });
      const now = this.records.find(run.id) ?? run;
      await this.records.write(this.boards.withLoad(now, course), { ...course, failure: why });
    }
    const progress = await this.takeBack.restore(run, course);
    if (progress === 'waiting') return undefined;
    const now = this.records.find(run.id) ?? run;
    if (progress === 'done') return this.close(now, 'rolled-back', why);
    return this.close(now, 'failed', notTakenBack(why, progress.failed));
  }

  /** After an internal error the run is rolled back once, and closed as failed if that fails, too. */
  private async afterFault(loop: LoopRun, fault: string): Promise<RunOutcome | undefined> {
    const it = await this.records.underWay(loop.key);
    if (!it?.course) return this.forget(loop.key);
    const { run, course } = it;
    if (course.failure !== null) return this.close(run, 'failed', notTakenBack(course.failure, fault));
    await this.records.write(this.boards.withLoad(run, course), { ...course, failure: fault });
    return { again: 0 };
  }

  private async close(
    run: Reconfiguration,
    state: Exclude<Reconfiguration['state'], 'running'>,
    detail: string | null,
  ) {
    const now = finished(run, state, detail, Date.now());
    await this.records.write(now, null, ...stageEvents(run, now), over(now, state));
    return this.forget(run.id);
  }

  private forget(id: string): RunOutcome {
    this.detected.delete(id);
    this.left.delete(id);
    return { again: 'done' };
  }
}

function notTakenBack(why: string, failure: string): string {
  return `${why}; rollback also failed: ${failure}`;
}
