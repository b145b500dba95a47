import type { SlotOffer } from '@orrery/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BOARD, BoardBench, type DeployedNf, OTHER_BOARD, OTHER_SLOT, SLOT } from './testing/board-bench.js';
import { RACK } from './testing/fixtures.js';

const SMALL = { ...OTHER_BOARD, resources: { lut: 100 } };
const HUNG = { ...BOARD, id: 'board-3', attached: 'switch' };
const LINKS = (['near0', 'far0'] as const).map((port, n) => ({
  id: `board-3-${port}`,
  a: { node: HUNG.id, port },
  b: { node: RACK.switches[0]!.id, port: `p${14 + n}` },
  bandwidth_bps: 1e9,
  delay_us: 0,
  jitter_us: 0,
  loss: 0,
}));
let bench: BoardBench;

beforeAll(async () => {
  bench = await BoardBench.start({}, [BOARD, SMALL, HUNG], LINKS);
});
afterAll(() => bench.stop());

async function offersFor(nf: DeployedNf, more: object = {}): Promise<readonly SlotOffer[]> {
  return (await bench.api.call('listSlotOffers', { query: { ...nf, ...more } })).items;
}

it('offers a slot exactly where a request for it comes about, and says why elsewhere', async () => {
  const { alpha, beta } = bench;
  const [free, small, hung, ...others] = await offersFor(alpha);
  expect(others).toEqual([]);
  expect(free).toEqual({ ...SLOT, displaces: [], verdict: 'possible', problem: null, conflict: null });
  expect(small).toMatchObject({
    ...OTHER_SLOT,
    verdict: 'refused',
    problem: null,
    conflict: { constraint: 'capacity', needed: 500, available: 100, unit: 'lut' },
  });
  expect(hung).toMatchObject({ board: 'board-3', verdict: 'refused' });
  expect(hung!.problem).toContain('would be the last NF');
  for (const { board, slot } of [small!, hung!]) {
    const run = await bench.move(alpha, 'board', { slot: { board, slot } });
    expect(run, `${board}: ${run.detail}`).toMatchObject({ state: 'refused' });
  }

  expect(await bench.move(alpha, 'board', { slot: SLOT })).toMatchObject({ state: 'completed' });
  expect(await offersFor(alpha, SLOT)).toMatchObject([{ verdict: 'refused', problem: 'it is already there' }]);
  // What is in the way would be displaced.
  expect(await offersFor(beta, SLOT)).toMatchObject([{ verdict: 'possible', displaces: [alpha] }]);
  expect(await bench.move(beta, 'board', { slot: SLOT, displaces: [alpha] })).toMatchObject({ state: 'completed' });
});

it('names what is wrong with a question', async () => {
  const query = { chain_id: 'ch-gone', node_id: 'nf' };
  const { status, body } = await bench.api.request('listSlotOffers', { query });
  expect([status, JSON.stringify(body)]).toEqual([422, expect.stringMatching(/"\/chain_id".*not-deployed/)]);
});
