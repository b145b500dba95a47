import { setTimeout as sleep } from 'node:timers/promises';
import type { ScenarioRun } from '@orrery/contract';
import type { ScenarioStep, Stage } from './scenario.js';

const POLL_MS = 200;

type Step = ScenarioRun['steps'][number];

interface Surroundings extends Pick<Stage, 'api' | 'signal' | 'make'> {
  /** The run as it is now. */
  update(run: ScenarioRun): void;
  /** Keeps the run as it is now over restarts. */
  save(run: ScenarioRun): Promise<void>;
}

/** Takes the steps of a run one after the other, and rejects with what the first that fails says. */
export async function perform(
  first: ScenarioRun,
  steps: readonly ScenarioStep[],
  { api, signal, make, update, save }: Surroundings,
): Promise<void> {
  let run = first;
  const change = (next: Partial<ScenarioRun>) => {
    run = { ...run, ...next };
    update(run);
  };
  const mark = (index: number, next: Partial<Step>) =>
    change({ steps: run.steps.map((step, i) => (i === index ? { ...step, ...next } : step)) });
  const stage: Stage = {
    api,
    signal,
    note: (detail) => mark(indexNow(run), { detail }),
    figure: (figure) => change({ figures: [...run.figures, figure] }),
    make: async (kind, request) => {
      const id = await make(kind, request);
      if (kind === 'pipeline') change({ pipelines: [...run.pipelines, id] });
      return id;
    },
    until: (what, seconds, probe) => until(what, seconds, probe, signal),
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

function indexNow({ steps }: ScenarioRun): number {
  return steps.findIndex(({ state }) => state === 'running');
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
