import type { Loop } from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BoardBench, SLOT } from './testing/board-bench.js';
import { until } from './testing/wait.js';

let bench: BoardBench;
beforeEach(async () => {
  bench = await BoardBench.start();
});
afterEach(() => bench.stop());

async function loopOf(id: string): Promise<Loop> {
  const { items } = await bench.api.call('listLoops');
  return items.find((loop) => loop.id === id)!;
}

it('are listed with purpose, latest decision and next run', async () => {
  const run = await bench.move(bench.alpha, 'board', { slot: SLOT });
  const { items } = await bench.api.call('listLoops');
  expect(items.map(({ id }) => id)).toEqual(expect.arrayContaining(['board-watch', 'policy-watch', 'reconfiguration']));
  expect(items.every(({ purpose, title }) => purpose.length > 0 && title.length > 0)).toBe(true);
  expect(items.find(({ id }) => id === 'reconfiguration')).toMatchObject({
    state: 'running',
    failures: 0,
    last_decision: { subject: run.id, what: 'Begins response', why: run.trigger },
  });
  expect((await loopOf('policy-watch')).next_run_ms).toBeGreaterThan(0);
  const told = (await bench.eventsOf('loop.decided')).filter(({ subject }) => subject === 'reconfiguration');
  expect(told.map(({ message }) => message)).toEqual(
    ['configuration', 'response'].map((stage) => `Begins ${stage}: ${run.trigger}`),
  );
});

it('stay paused across a restart of the server, and resume pending work afterwards', async () => {
  const paused = await bench.api.call('pauseLoop', { params: { id: 'reconfiguration' } });
  expect(paused).toMatchObject({ state: 'paused', paused: { by: expect.any(String) } });
  const id = await bench.ask(bench.alpha, 'board', { slot: SLOT });
  await bench.restart();
  expect(await loopOf('reconfiguration')).toMatchObject({ state: 'paused', runs: 0 });
  expect(await bench.run(id)).toMatchObject({ state: 'running' });
  expect(await bench.operationsOf(id)).toEqual([]);
  await bench.api.call('resumeLoop', { params: { id: 'reconfiguration' } });
  expect((await bench.ended(id)).state).toBe('completed');
  const told = await until('both are told', async () => {
    const events = [...(await bench.eventsOf('loop.paused')), ...(await bench.eventsOf('loop.resumed'))];
    return events.length === 2 && events;
  });
  expect(told.every(({ subject, actor }) => subject === 'reconfiguration' && actor !== 'server')).toBe(true);
});

it('return 404 if unknown, and viewers cannot pause them', async () => {
  expect(await bench.api.request('pauseLoop', { params: { id: 'no-loop' } })).toMatchObject({ status: 404 });
  const viewer = await bench.server.session('viewer');
  expect(await viewer.request('pauseLoop', { params: { id: 'reconfiguration' } })).toMatchObject({ status: 403 });
});
