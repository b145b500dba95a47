import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { ScenarioRun } from '@orrery/contract';
import { newId } from '../../platform/ids.js';
import { LOG, type Log } from '../../platform/log.js';
import { conflict, notFound } from '../../platform/problem.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { ApiCaller } from './api-caller.js';
import { SCRIPTS } from './registry.js';
import type { ScenarioScript, ScenarioStep, Stage } from './scenario.js';

const KEEP = 50;
const POLL_MS = 200;

interface Active {
  readonly id: string;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

/** Runs one scenario at a time, tells how far it is, and takes away what it made. */
@Injectable()
export class ScenarioRunner implements OnModuleInit, OnApplicationShutdown {
  private runs: readonly ScenarioRun[] = [];
  private active: Active | null = null;

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(STORE) private readonly store: Store,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(ApiCaller) private readonly caller: ApiCaller,
  ) {}

  async onModuleInit(): Promise<void> {
    const stored = await this.store.hashValues<ScenarioRun>(KEYS.scenarioRuns);
    this.runs = stored.sort((a, b) => b.started_ms - a.started_ms);
    for (const run of this.runs.filter(({ state }) => state === 'running'))
      await this.write(
        over(run, 'failed', 'The server was restarted meanwhile; chains and traffic of the run are left.'),
      );
  }

  async onApplicationShutdown(): Promise<void> {
    this.active?.abort.abort();
    await this.active?.ended;
  }

  all(): readonly ScenarioRun[] {
    return this.runs;
  }

  get(id: string): ScenarioRun {
    const run = this.runs.find((each) => each.id === id);
    if (!run) throw notFound('scenario run', id);
    return run;
  }

  async start(scenarioId: string, by: string): Promise<ScenarioRun> {
    const script = SCRIPTS.find(({ scenario }) => scenario.id === scenarioId);
    if (!script) throw notFound('scenario', scenarioId);
    if (this.active) throw conflict('Another scenario runs; stop it or wait for its end.');
    const steps = script.steps();
    const run: ScenarioRun = {
      id: newId('sr'),
      scenario_id: scenarioId,
      state: 'running',
      steps: steps.map(({ title }) => ({ title, state: 'pending', started_ms: null, ended_ms: null, detail: null })),
      figures: [],
      pipelines: [],
      detail: null,
      started_ms: Date.now(),
      ended_ms: null,
    };
    const abort = new AbortController();
    let end = () => {};
    this.active = {
      id: run.id,
      abort,
      ended: new Promise((resolve) => {
        end = resolve;
      }),
    };
    const finish = () => {
      this.active = null;
      end();
    };
    try {
      await this.write(run);
    } catch (error) {
      finish();
      throw error;
    }
    this.tell(run, 'started', `Scenario "${script.scenario.title}" started`, by);
    void this.carryOut(run, script, steps, abort.signal, by)
      .catch((error: unknown) => this.log.error({ error }, 'a scenario was lost sight of'))
      .finally(finish);
    return run;
  }

  async stop(id: string): Promise<void> {
    this.get(id);
    if (this.active?.id !== id) throw notFound('running scenario', id);
    this.active.abort.abort();
    await this.active.ended;
  }

  private async carryOut(
    first: ScenarioRun,
    script: ScenarioScript,
    steps: readonly ScenarioStep[],
    signal: AbortSignal,
    by: string,
  ): Promise<void> {
    let run = first;
    const update = (next: Partial<ScenarioRun>) => {
      run = { ...run, ...next };
      this.remember(run);
    };
    const undo: (() => Promise<unknown>)[] = [];
    const api = await this.caller.as(`scenario ${script.scenario.id}`);
    const stage: Stage = {
      api,
      signal,
      note: (detail) =>
        update({ steps: run.steps.map((step) => (step.state === 'running' ? { ...step, detail } : step)) }),
      figure: (figure) => update({ figures: [...run.figures, figure] }),
      made: (id) => update({ pipelines: [...run.pipelines, id] }),
      onEnd: (work) => undo.push(work),
      until: (what, seconds, probe) => until(what, seconds, probe, signal),
    };
    let failure: string | null = null;
    for (const [i, step] of steps.entries()) {
      if (failure !== null || signal.aborted) break;
      const mark = (change: Partial<ScenarioRun['steps'][number]>) =>
        update({ steps: run.steps.map((each, k) => (k === i ? { ...each, ...change } : each)) });
      mark({ state: 'running', started_ms: Date.now() });
      await this.write(run);
      try {
        await step.run(stage);
        mark({ state: 'done', ended_ms: Date.now() });
      } catch (error) {
        failure = (error as Error).message;
        mark({ state: signal.aborted ? 'skipped' : 'failed', ended_ms: Date.now(), detail: failure });
      }
    }
    const state = signal.aborted ? 'stopped' : failure === null ? 'completed' : 'failed';
    for (const work of undo.reverse())
      await work().catch((error: unknown) => this.log.warn({ error: (error as Error).message }, 'left by a scenario'));
    await api.end();
    run = over(run, state, state === 'failed' ? failure : null);
    await this.write(run);
    this.tell(run, state, `Scenario "${script.scenario.title}" ${state}${failure ? `: ${failure}` : ''}`, by);
  }

  private tell(run: ScenarioRun, what: string, message: string, actor: string): void {
    this.events.append({
      type: `scenario.${what}`,
      severity: what === 'failed' ? 'error' : 'info',
      subject: run.id,
      message,
      actor,
      data: { run: run.id, scenario: run.scenario_id },
    });
  }

  private remember(run: ScenarioRun): void {
    const others = this.runs.filter(({ id }) => id !== run.id);
    this.runs = [run, ...others].sort((a, b) => b.started_ms - a.started_ms);
  }

  private async write(run: ScenarioRun): Promise<void> {
    const others = this.runs.filter(({ id }) => id !== run.id);
    const gone = others.slice(KEEP - 1).map(({ id }) => id);
    await this.store.transact((transaction) => {
      transaction.hset(KEYS.scenarioRuns, run.id, JSON.stringify(run));
      if (gone.length > 0) transaction.hdel(KEYS.scenarioRuns, ...gone);
    });
    this.remember(run);
    this.runs = this.runs.slice(0, KEEP);
  }
}

function over(run: ScenarioRun, state: ScenarioRun['state'], detail: string | null): ScenarioRun {
  const now = Date.now();
  const steps = run.steps.map((step) => {
    if (step.state === 'pending') return { ...step, state: 'skipped' as const };
    return step.state === 'running' ? { ...step, state: 'failed' as const, ended_ms: now } : step;
  });
  return { ...run, steps, state, detail, ended_ms: now };
}

async function until<T>(
  what: string,
  seconds: number,
  probe: () => Promise<T | null>,
  signal: AbortSignal,
): Promise<T> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    signal.throwIfAborted();
    const value = await probe();
    if (value !== null) return value;
    if (Date.now() > deadline) throw new Error(`did not happen within ${seconds} s: ${what}`);
    await sleep(POLL_MS, undefined, { signal });
  }
}
