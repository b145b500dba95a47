import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { EventDraft, Role, ScenarioReport, ScenarioRun } from '@orrery/contract';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { conflict, unavailable } from '../../platform/problem.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { type Api, ApiCaller, Unavailable } from './api-caller.js';
import { perform } from './performance.js';
import { ScenarioRecords } from './records.js';
import type { ScenarioStep } from './scenario.js';
import { Sweeper } from './sweeper.js';

const BACKOFF = { firstMs: 1000, mostMs: 10_000 };
/** For cleaning up after a run: a chain is taken down only once no reconfiguration uses it. */
const DEADLINE_MS = 600_000;
/** Retry period for leftovers. */
const TIDY_MS = 60_000;
/** Key of the loop for sessions that are no longer needed; the other keys are runs. */
const SESSIONS = 'sessions';
const INTERRUPTED = 'Interrupted by a restart of the server; cleaned up.';

/** An unfinished run of this server. */
interface Active {
  /** Current state; steps are stored when they begin. */
  run: ScenarioReport;
  readonly steps: readonly ScenarioStep[];
  /** Of its session. */
  readonly role: Role;
  readonly abort: AbortController;
  /** Its session. */
  api: Api | null;
  /** Resolves when its steps are over, whatever their outcome. */
  performing: Promise<void> | null;
  /** Outcome of the steps: error, or null for success; undefined: not over. */
  failure: string | null | undefined;
  readonly over: Promise<void>;
  readonly end: () => void;
}

/** Abort reason of a run that a user stopped. */
class StoppedBy extends Error {
  constructor(readonly user: string) {
    super(`stopped by ${user}`);
  }
}

/** Runs the steps of scenarios and removes what runs created, including leftovers of an earlier server. */
@Injectable()
export class ScenarioLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private readonly active = new Map<string, Active>();
  /** Sessions to end. */
  private readonly released = new Set<Api>();

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(ApiCaller) private readonly caller: ApiCaller,
    @Inject(ScenarioRecords) private readonly records: ScenarioRecords,
    @Inject(Sweeper) private readonly sweeper: Sweeper,
  ) {
    this.loop = loops.add({
      id: 'scenario',
      title: 'Scenarios',
      purpose: 'Runs scenarios, one at a time, and removes what they created.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      run: (run) => this.look(run),
    });
  }

  /** Runs of an earlier server are over; what they created is removed. */
  async onApplicationBootstrap(): Promise<void> {
    for (const run of this.records.all().filter(({ state }) => state === 'running')) {
      const message = `Scenario run ${run.id}: ${INTERRUPTED}`;
      await this.records.write(over(run, 'failed', INTERRUPTED), eventOf(run, 'failed', message));
    }
    for (const id of this.sweeper.leftBy()) this.loop.wake(id);
  }

  /** The next server removes what the run has created. */
  async onApplicationShutdown(): Promise<void> {
    for (const { abort } of this.active.values()) abort.abort();
    await this.loop.stop();
    await Promise.all([...this.active.values()].map(({ performing }) => performing));
  }

  /** Current state; undefined if it has ended or never existed. */
  now(id: string): ScenarioReport | undefined {
    return this.active.get(id)?.run;
  }

  /** Throws 409 while a run is in progress or leftovers are being removed. */
  requireIdle(): void {
    if (this.active.size > 0) throw conflict('Another scenario is running; stop it or wait until it ends.');
    if (this.loop.status().atWork.some((key) => key !== SESSIONS))
      throw conflict('The leftovers of an interrupted run are being removed; try again soon.');
  }

  /** Resolves when the run is stored. From then on its clean-up is guaranteed, even if the store's reply is lost. */
  async begin(run: ScenarioReport, steps: readonly ScenarioStep[], role: Role): Promise<void> {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const active: Active = {
      run,
      steps,
      role,
      abort: new AbortController(),
      api: null,
      performing: null,
      failure: undefined,
      over: ended,
      end,
    };
    this.active.set(run.id, active);
    try {
      await this.records.write(run, eventOf(run, 'started', `Scenario "${run.title}" started`, run.by));
    } catch (error) {
      active.failure = (error as Error).message;
      throw error;
    } finally {
      this.loop.wake(run.id);
    }
  }

  /** Resolves when the run is over. False if it is not in progress. */
  async stop(id: string, by: string): Promise<boolean> {
    const active = this.active.get(id);
    if (!active) return false;
    if (this.loop.status().paused) throw conflict('The control loop "Scenarios" is paused; resume it first.');
    active.abort.abort(new StoppedBy(by));
    this.loop.wake(id);
    await active.over;
    return true;
  }

  /** Ends the session, with retries while the store is away. */
  release(api: Api): void {
    this.released.add(api);
    this.loop.wake(SESSIONS);
  }

  private async look(run: LoopRun): Promise<RunOutcome | undefined> {
    const active = this.active.get(run.key);
    try {
      if (run.key === SESSIONS) return await this.endSessions(run);
      return await (active ? this.follow(run, active) : this.cleanUp(run));
    } catch (error) {
      throw error instanceof Unavailable ? unavailable(error.message) : error;
    }
  }

  /** Whatever the outcome of the steps, what they created is removed, and the run ends only once that is stored. */
  private async follow(loop: LoopRun, active: Active): Promise<RunOutcome | undefined> {
    const { scenario_id, id } = active.run;
    active.api ??= await loop.step(this.caller.as(`scenario ${scenario_id}`, active.role));
    if (active.failure === undefined) {
      this.begins(loop, active, active.api);
      return undefined;
    }
    await loop.step(this.sweeper.sweep(active.api, id, loop.signal));
    if (active.run.state === 'running') await loop.step(this.close(loop, active, active.failure));
    this.release(active.api);
    this.active.delete(id);
    active.end();
    return this.sweeper.leftBy().includes(id) ? { again: TIDY_MS } : { again: 'done' };
  }

  private begins({ decide }: LoopRun, active: Active, api: Api): void {
    if (active.performing) return;
    const { id, by } = active.run;
    decide({ subject: id, what: 'Begin', why: `requested by ${by}`, inputs: { scenario: active.run.scenario_id } });
    active.performing = this.perform(active, api)
      .then(() => null, messageOf)
      .then((failure) => {
        active.failure = failure;
        this.loop.wake(id);
      });
  }

  private async perform(active: Active, api: Api): Promise<void> {
    const { run, steps } = active;
    const { signal } = active.abort;
    for (const id of this.sweeper.leftBy()) if (id !== run.id) await this.sweepLeft(api, id, signal);
    await perform(run, steps, {
      api,
      signal,
      make: (kind, request) => this.sweeper.make(api, run.id, kind, request),
      update: (next) => {
        active.run = next;
      },
      save: (next) => this.records.write(next),
    });
  }

  private async close({ decide }: LoopRun, active: Active, failure: string | null): Promise<void> {
    const { reason } = active.abort.signal;
    const stop = reason instanceof StoppedBy ? reason : null;
    const state = stop ? 'stopped' : failure === null ? 'completed' : 'failed';
    const why = stop?.message ?? (failure === null ? state : `${state}: ${failure}`);
    const ended = over(active.run, state, state === 'failed' ? failure : null);
    const { id, title, by } = ended;
    decide({ subject: id, what: 'End', why, inputs: { scenario: ended.scenario_id, state } });
    await this.records.write(ended, eventOf(ended, state, `Scenario "${title}" ${why}`, stop?.user ?? by));
    active.run = ended;
  }

  /** For a run that is over; an active run cleans up after itself. */
  private async cleanUp({ key, signal, step, decide }: LoopRun): Promise<RunOutcome> {
    if (this.active.size > 0) return { again: TIDY_MS };
    if (!this.sweeper.leftBy().includes(key)) return { again: 'done' };
    decide({
      subject: key,
      what: 'Clean up',
      why: 'its run is over',
      inputs: { leftovers: this.sweeper.leftBy().length },
    });
    // Whatever a scenario may have changed.
    const api = await step(this.caller.as('scenarios', 'admin'));
    const isClean = await step(this.sweepLeft(api, key, signal)).finally(() => this.release(api));
    return { again: isClean ? 'done' : TIDY_MS };
  }

  private async endSessions({ step }: LoopRun): Promise<RunOutcome> {
    for (const api of this.released) {
      await step(api.end());
      this.released.delete(api);
    }
    return { again: 'done' };
  }

  private async sweepLeft(api: Api, id: string, signal: AbortSignal): Promise<boolean> {
    const isClean = await this.sweeper.sweep(api, id, signal);
    const run = this.records.find(id);
    if (isClean && run) this.events.append(eventOf(run, 'cleaned', `Scenario run ${id} was cleaned up`));
    return isClean;
  }
}

function eventOf(
  { id, scenario_id }: ScenarioRun,
  what: Exclude<ScenarioRun['state'], 'running'> | 'started' | 'cleaned',
  message: string,
  actor?: string,
): EventDraft {
  return {
    type: `scenario.${what}`,
    subject: id,
    message,
    ...(actor === undefined ? {} : { actor }),
    data: { run: id, scenario: scenario_id },
  };
}

function over(run: ScenarioReport, state: ScenarioRun['state'], detail: string | null): ScenarioReport {
  const now = Date.now();
  const steps = run.steps.map((step) => {
    if (step.state === 'pending') return { ...step, state: 'skipped' as const };
    return step.state === 'running' ? { ...step, state: 'failed' as const, ended_ms: now } : step;
  });
  return { ...run, steps, state, detail, ended_ms: now };
}

function messageOf(error: unknown): string {
  return (error as Error).message;
}
