import { setTimeout as sleep } from 'node:timers/promises';
import { ScenarioFigure, type ScenarioReport } from '@orrery/contract';
import type { ScenarioStep, Stage } from './scenario.js';
import { thinned } from './series.js';

const POLL_MS = 200;
const WAIT_TICK_MS = 500;

type Step = ScenarioReport['steps'][number];

interface Surroundings extends Pick<Stage, 'api' | 'signal' | 'make'> {
  /** Reports the current state of the run. */
  update(run: ScenarioReport): void;
  /** Stores the current state of the run. */
  save(run: ScenarioReport): Promise<void>;
}

/** Runs the steps in order, and rejects with the error of the first that fails. */
export async function perform(
  first: ScenarioReport,
  steps: readonly ScenarioStep[],
  { api, signal, make, update, save }: Surroundings,
): Promise<void> {
  let run = first;
  const change = (next: Partial<ScenarioReport>) => {
    run = { ...run, ...next };
    update(run);
  };
  const mark = (index: number, next: Partial<Step>) =>
    change({ steps: run.steps.map((step, i) => (i === index ? { ...step, ...next } : step)) });
  const stage: Stage = {
    api,
    signal,
    started_ms: first.started_ms,
    note: (detail, progress) => mark(indexNow(run), { detail, progress: progress ?? null }),
    figure: (figure) => change({ figures: [...run.figures, judged(ScenarioFigure.parse(figure))] }),
    plot: (plot) => {
      const series = plot.series.map((each) => ({ ...each, points: thinned(each.points) }));
      change({ plots: [...run.plots, { ...plot, series }] });
    },
    make: async (kind, request) => {
      const id = await make(kind, request);
      if (kind === 'chain') change({ chains: [...run.chains, id] });
      return id;
    },
    until: (what, seconds, probe) => until(what, seconds, probe, signal),
    wait: async (seconds, detail) => {
      const ms = seconds * 1000;
      for (const began = performance.now(); performance.now() - began < ms; ) {
        stage.note(detail, Math.min(1, (performance.now() - began) / ms));
        await sleep(Math.min(WAIT_TICK_MS, ms), undefined, { signal });
      }
      stage.note(detail, 1);
    },
  };
  for (const [i, step] of steps.entries()) {
    if (signal.aborted) return;
    mark(i, { state: 'running', started_ms: Date.now() });
    try {
      await save(run);
      await step.run(stage);
      mark(i, { state: 'done', ended_ms: Date.now() });
    } catch (error) {
      const { message: detail } = (signal.aborted ? signal.reason : error) as Error;
      mark(i, { state: signal.aborted ? 'skipped' : 'failed', ended_ms: Date.now(), detail });
      throw error;
    }
  }
}

function judged(figure: ScenarioFigure): ScenarioFigure {
  const { bar, here } = figure;
  if (!bar) return figure;
  const { least, most } = bar;
  return { ...figure, pass: here !== null && (least === null || here >= least) && (most === null || here <= most) };
}

function indexNow({ steps }: ScenarioReport): number {
  return steps.findIndex(({ state }) => state === 'running');
}

async function until<T>(
  what: string,
  seconds: number,
  probe: () => Promise<T | null>,
  signal: AbortSignal,
): Promise<T> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    signal.throwIfAborted();
    const value = await probe();
    if (value !== null) return value;
    if (performance.now() > deadline) throw new Error(`did not happen within ${seconds} s: ${what}`);
    await sleep(POLL_MS, undefined, { signal });
  }
}
