import type { ScenarioReport } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { Api } from './api-caller.js';
import { perform } from './performance.js';
import type { ScenarioStep } from './scenario.js';

const pending = { state: 'pending', progress: null, started_ms: null, ended_ms: null, detail: null } as const;

function runOf(steps: readonly ScenarioStep[]): ScenarioReport {
  return {
    id: 'sr-1',
    scenario_id: 'x',
    title: 'X',
    source: '',
    parameters: {},
    by: '',
    state: 'running',
    steps: steps.map(({ title }) => ({ title, ...pending })),
    figures: [],
    plots: [],
    chains: [],
    detail: null,
    started_ms: 0,
    ended_ms: null,
  };
}

async function take(steps: readonly ScenarioStep[], abort = new AbortController()) {
  let now = runOf(steps);
  const seen: ScenarioReport[] = [];
  const around = { api: {} as Api, signal: abort.signal, make: async () => 'id', save: async () => undefined };
  const error = await perform(now, steps, {
    ...around,
    update: (run) => {
      now = run;
      seen.push(run);
    },
  }).then(
    () => null,
    (thrown: Error) => thrown.message,
  );
  return { now, seen, error };
}

it('checks each figure against its bar', async () => {
  const figure = { unit: 's', published: null };
  const { now } = await take([
    {
      title: 'a',
      run: async (stage) => {
        stage.figure({ ...figure, name: 'free', here: 1 });
        stage.figure({ ...figure, name: 'in', here: 2, bar: { least: 1, most: 2 } });
        stage.figure({ ...figure, name: 'above', here: 3, bar: { least: null, most: 2 } });
        stage.figure({ ...figure, name: 'below', here: 0, bar: { least: 1, most: null } });
        stage.figure({ ...figure, name: 'absent', here: null, bar: { least: 1, most: null } });
      },
    },
  ]);
  expect(now.figures.map(({ name, pass }) => [name, pass])).toEqual([
    ['free', null],
    ['in', true],
    ['above', false],
    ['below', false],
    ['absent', false],
  ]);
});

it('draws fewer points than were measured where these are many', async () => {
  const axis = { label: 'time', unit: 's' };
  const points = Array.from({ length: 3000 }, (_, s): [number, number] => [s, s]);
  const series = [{ name: 'a', published: false, modelled: false, points }];
  const { now } = await take([
    { title: 'a', run: async (stage) => stage.plot({ title: 'b', source: '', x: axis, y: axis, series }) },
  ]);
  expect(now.plots[0]!.series[0]!.points).toHaveLength(500);
});

it('shows the progress of a wait until it ends', async () => {
  const { seen } = await take([{ title: 'a', run: (stage) => stage.wait(0.05, 'measuring') }]);
  const told = seen.flatMap(({ steps }) => steps[0]?.progress ?? []);
  expect(told[0]).toBeLessThan(1);
  expect(told.at(-1)).toBe(1);
});

it('ends the progress of what a step did with what it tells next', async () => {
  const { seen } = await take([
    {
      title: 'a',
      run: async (stage) => {
        stage.note('sending', 1);
        stage.note('400 arrived');
      },
    },
  ]);
  expect(seen.at(-1)!.steps[0]).toMatchObject({ state: 'done', detail: '400 arrived', progress: null });
});

it.each([0, 1, 2])('stops immediately in step %i, and runs no later step', async (at) => {
  const abort = new AbortController();
  const ran: number[] = [];
  const steps = [0, 1, 2].map((n) => ({
    title: `${n}`,
    run: async (stage: Parameters<ScenarioStep['run']>[0]) => {
      ran.push(n);
      if (n !== at) return;
      setImmediate(() => abort.abort(new Error('stopped by ann')));
      await stage.wait(3600, 'measuring');
    },
  }));
  const { now, error } = await take(steps, abort);
  expect(error).not.toBeNull();
  expect(ran).toEqual([0, 1, 2].slice(0, at + 1));
  expect(now.steps[at]).toMatchObject({ state: 'skipped', detail: 'stopped by ann' });
  expect(now.steps.slice(at + 1).every(({ state }) => state === 'pending')).toBe(true);
});
