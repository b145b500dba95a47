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
import { type Api, ApiCaller } from './api-caller.js';
import { perform } from './performance.js';
import { SCRIPTS } from './registry.js';
import type { ScenarioScript, ScenarioStep } from './scenario.js';
import { Sweeper } from './sweeper.js';

const KEEP = 50;
const RETRY_MS = 1000;
const TIDY_MS = 60_000;
const INTERRUPTED = 'Interrupted by a restart of the server; what it had made is taken away.';

interface Active {
  /** null: leftovers are taken away. */
  readonly id: string | null;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

/** Why a run was aborted: a user wants it. */
class StoppedBy extends Error {
  constructor(readonly user: string) {
    super(`stopped by ${user}`);
  }
}

/** Runs one scenario at a time, tells how far it is, and takes away what it made. */
@Injectable()
export class ScenarioRunner implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private runs: readonly ScenarioRun[] = [];
  private active: Active | null = null;
  private tidying: NodeJS.Timeout | undefined;
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

  /** What an interrupted run made goes, as at its own end; what cannot go yet is tried again from time to time. */
  async onApplicationBootstrap(): Promise<void> {
    for (const run of this.runs.filter(({ state }) => state === 'running')) {
      await this.write(over(run, 'failed', INTERRUPTED));
      this.tell(run, 'failed', `Scenario run ${run.id}: ${INTERRUPTED}`);
    }
    await this.tidy();
    this.tidying = setInterval(() => {
      this.tidy().catch((error: unknown) =>
        this.log.warn({ error: messageOf(error) }, 'leftovers are looked for later'),
      );
    }, TIDY_MS);
  }

  /** The next server takes away what a run has made. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.tidying);
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
    this.occupy(run.id, (signal) => this.carryOut(run, script, steps, stored, signal, by));
    await stored;
    this.tell(run, 'started', `Scenario "${script.scenario.title}" started`, by);
    return run;
  }

  async stop(id: string, by: string): Promise<void> {
    this.get(id);
    if (this.active?.id !== id) throw notFound('running scenario', id);
    this.active.abort.abort(new StoppedBy(by));
    await this.active.ended;
  }

  private async tidy(): Promise<void> {
    const left = await this.sweeper.leftBy();
    if (left.length > 0 && !this.active) this.occupy(null, (signal) => this.cleanUp(signal));
  }

  private occupy(id: string | null, work: (signal: AbortSignal) => Promise<void>): void {
    const abort = new AbortController();
    const ended = work(abort.signal)
      .catch((error: unknown) => {
        if (!this.closing.signal.aborted) this.log.error({ error }, 'a scenario was lost sight of');
      })
      .finally(() => {
        this.active = null;
      });
    this.active = { id, abort, ended };
  }

  private async cleanUp(signal: AbortSignal): Promise<void> {
    const api = await this.untilDone(() => this.caller.as('scenarios'));
    await this.untilDone(() => this.sweepAll(api, signal));
    await this.untilDone(() => api.end());
  }

  /** Takes away what earlier runs left. */
  private async sweepAll(api: Api, signal: AbortSignal): Promise<void> {
    for (const id of await this.sweeper.leftBy()) {
      const run = this.runs.find((each) => each.id === id);
      const done = await this.sweeper.sweep(api, id, signal);
      if (done && run) this.tell(run, 'cleaned', `What scenario run ${id} had made was taken away`);
    }
  }

  /** Whatever becomes of the steps, what they made is taken away, and the run is not over before that is stored. */
  private async carryOut(
    run: ScenarioRun,
    script: ScenarioScript,
    steps: readonly ScenarioStep[],
    stored: Promise<void>,
    signal: AbortSignal,
    by: string,
  ): Promise<void> {
    let now = run;
    const api = await this.untilDone(() => this.caller.as(`scenario ${script.scenario.id}`));
    const failure = await stored
      .then(() => this.sweepAll(api, signal))
      .then(() =>
        perform(run, steps, {
          api,
          signal,
          make: (kind, request) => this.sweeper.make(api, run.id, kind, request),
          update: (next) => {
            now = next;
            this.remember(next);
          },
          save: (next) => this.write(next),
        }),
      )
      .then(() => null, messageOf);
    const stop = signal.reason instanceof StoppedBy ? signal.reason : null;
    const state = stop ? 'stopped' : failure === null ? 'completed' : 'failed';
    await this.untilDone(() => this.sweeper.sweep(api, run.id, this.closing.signal));
    await this.untilDone(() => api.end());
    if (this.closing.signal.aborted) return;
    const ended = over(now, state, state === 'failed' ? failure : null);
    await this.untilDone(() => this.write(ended));
    const end = stop?.message ?? (failure === null ? state : `${state}: ${failure}`);
    this.tell(ended, state, `Scenario "${script.scenario.title}" ${end}`, stop?.user ?? by);
  }

  /** Tries again while the store is away. Throws when the server stops. */
  private async untilDone<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        this.log.warn({ error: messageOf(error) }, 'a scenario is tried again');
        await sleep(RETRY_MS, undefined, { signal: this.closing.signal });
      }
    }
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

function messageOf(error: unknown): string {
  return (error as Error).message;
}
