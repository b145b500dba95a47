import { afterEach, beforeEach, expect, it } from 'vitest';
import { BoardBench, type DeployedNf, SLOT, stagesOf } from './testing/board-bench.js';
import { until } from './testing/wait.js';

let bench: BoardBench;
let alpha: DeployedNf;

beforeEach(async () => {
  // Nothing reports that a slot cannot be loaded, so a load that does not end is waited for.
  bench = await BoardBench.start({ ORRERY_STEP_TIMEOUT_MS: '600' });
  ({ alpha } = bench);
});
afterEach(() => bench.stop());

it('a reconfiguration falls back to software when the board does not work, and says so', async () => {
  await bench.move(alpha, 'board', { slot: SLOT });
  bench.board.faulty.add('board-1/0');
  bench.board.reach();
  const fallback = await until('the fallback', async () => {
    const { items } = await bench.api.call('listReconfigurations');
    const [newest] = items;
    return newest?.cause === 'fallback' && newest.state !== 'running' ? newest : null;
  });
  expect(fallback).toMatchObject({ state: 'completed', moves: [{ nf: 'alpha', to: { on: 'software' } }] });
  expect(stagesOf(fallback)).toEqual(['detection done', 'update done', 'configuration skipped', 'response done']);
  expect(await bench.places()).toMatchObject({ alpha: 'alpha.nf.0' });
  expect(bench.board.spec!.instances.every((it) => !it.board)).toBe(true);
  expect((await bench.eventsOf('slot.state')).at(-1)).toMatchObject({ severity: 'error', data: { state: 'faulty' } });
  const again = await bench.move(alpha, 'board', { slot: SLOT });
  expect(again).toMatchObject({ state: 'rolled-back' });
  expect(await bench.places()).toMatchObject({ alpha: 'alpha.nf.0' });
});

it('software carries while a slot loads again what it lost', async () => {
  await bench.move(alpha, 'board', { slot: SLOT });
  bench.board.reloading.add('board-1/0');
  bench.board.reach();
  const fallback = await until('the fallback', async () => {
    const [newest] = (await bench.api.call('listReconfigurations')).items;
    return newest?.cause === 'fallback' && newest.state !== 'running' ? newest : null;
  });
  expect(fallback).toMatchObject({ state: 'completed', trigger: expect.stringContaining('it is loaded again') });
  expect(await bench.places()).toMatchObject({ alpha: 'alpha.nf.0' });
});
