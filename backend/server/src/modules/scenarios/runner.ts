import { setTimeout as sleep } from 'node:timers/promises';
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
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
import { Sweeper } from './sweeper.js';

const KEEP = 50;
const POLL_MS = 200;
const INTERRUPTED = 'Interrupted by a restart of the server; what it had made is taken away.';

interface Active {
  /** null: leftovers are taken away. */
  readonly id: string | null;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

/** Runs one scenario at a time, tells how far it is, and takes away what it made. */
@Injectable()
export class ScenarioRunner implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private runs: readonly ScenarioRun[] = [];
  private active: Active | null = null;
  private readonly closing = new AbortController();

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(STORE) private readonly store: Store,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(ApiCaller) private readonly caller: ApiCaller,
    @Inject(Sweeper) private readonly sweeper: Sweeper,
  ) {}

  async onModuleInit(): Promise<void> {
    const stored = await this.store.hashValues<ScenarioRun>(KEYS.scenarioRuns);
    this.runs = stored.sort((a, b) => b.started_ms - a.started_ms);
  }

  /** What an interrupted run made goes, as at its own end. */
  async onApplicationBootstrap(): Promise<void> {
    for (const run of this.runs.filter(({ state }) => state === 'running')) {
      await this.write(over(run, 'failed', INTERRUPTED));
      this.tell(run, 'failed', `Scenario run ${run.id}: ${INTERRUPTED}`);
    }
    const left = await this.sweeper.leftBy();
    if (left.length > 0) this.occupy(null, (signal) => this.sweepAll(signal));
  }

  /** The next server takes away what a run has made. */
  async onApplicationShutdown(): Promise<void> {
    this.closing.abort();
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
    if (this.active?.id === null) throw conflict('What an interrupted run made is being taken away; try again soon.');
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
    const stored = this.write(run);
    this.occupy(run.id, async (signal) => {
      await stored;
      await this.carryOut(run, script, steps, signal, by);
    });
    await stored;
    this.tell(run, 'started', `Scenario "${script.scenario.title}" started`, by);
    return run;
  }

  async stop(id: string): Promise<void> {
    this.get(id);
    if (this.active?.id !== id) throw notFound('running scenario', id);
    this.active.abort.abort();
    await this.active.ended;
  }

  private occupy(id: string | null, work: (signal: AbortSignal) => Promise<void>): void {
    const abort = new AbortController();
    const ended = work(abort.signal)
      .catch((error: unknown) => this.log.error({ error }, 'a scenario was lost sight of'))
      .finally(() => {
        this.active = null;
      });
    this.active = { id, abort, ended };
  }

  /** Takes away what earlier runs left. */
  private async sweepAll(signal: AbortSignal): Promise<void> {
    const api = await this.caller.as('scenarios');
    for (const id of await this.sweeper.leftBy()) {
      const run = this.runs.find((each) => each.id === id);
      const done = await this.sweeper.sweep(api, id, signal);
      if (done && run) this.tell(run, 'cleaned', `What scenario run ${id} had made was taken away`);
    }
    await api.end();
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
    await this.sweepAll(signal);
    const api = await this.caller.as(`scenario ${script.scenario.id}`);
    const stage: Stage = {
      api,
      signal,
      note: (detail) =>
        update({ steps: run.steps.map((step) => (step.state === 'running' ? { ...step, detail } : step)) }),
      figure: (figure) => update({ figures: [...run.figures, figure] }),
      make: async (kind, request) => {
        const id = await this.sweeper.make(api, run.id, kind, request);
        if (kind === 'pipeline') update({ pipelines: [...run.pipelines, id] });
        return id;
      },
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
    await this.sweeper.sweep(api, run.id, this.closing.signal);
    await api.end();
    if (this.closing.signal.aborted) return;
    run = over(run, state, state === 'failed' ? failure : null);
    await this.write(run);
    this.tell(run, state, `Scenario "${script.scenario.title}" ${state}${failure ? `: ${failure}` : ''}`, by);
  }

  private tell(run: ScenarioRun, what: string, message: string, actor?: string): void {
    this.events.append({
      type: `scenario.${what}`,
      severity: what === 'failed' ? 'error' : 'info',
      subject: run.id,
      message,
      ...(actor === undefined ? {} : { actor }),
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
