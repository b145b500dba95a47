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
  expect(free).toEqual({ nf: alpha, ...SLOT, displaces: [], verdict: 'possible', problem: null, conflict: null });
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
  expect(await offersFor(alpha, SLOT)).toMatchObject([
    { verdict: 'refused', problem: 'the NF is already in this slot' },
  ]);
  // What is in the way would be displaced.
  expect(await offersFor(beta, SLOT)).toMatchObject([{ verdict: 'possible', displaces: [alpha] }]);
  expect(await bench.move(beta, 'board', { slot: SLOT, displaces: [alpha] })).toMatchObject({ state: 'completed' });
});

it('answers of one slot for every NF that boards can run, also where it is reserved', async () => {
  const { alpha, beta, api } = bench;
  const slot = { id: OTHER_SLOT.board, slot: OTHER_SLOT.slot };
  await api.call('reserveSlot', { params: slot, body: { reason: 'a test' } });
  const { items } = await api.call('listSlotOffers', { query: { ...OTHER_SLOT, load: 'full' } });
  expect(items.map(({ nf, verdict }) => [nf, verdict])).toEqual([
    [alpha, 'refused'],
    [beta, 'refused'],
  ]);
  expect(items[0]!.conflict).toMatchObject({ constraint: 'capacity', needed: 500, available: 100 });
});

it('makes no plans for viewers', async () => {
  const viewer = await bench.server.session('viewer');
  expect((await viewer.request('listSlotOffers', { query: { ...bench.alpha } })).status).toBe(403);
});

it('names what is wrong with a question', async () => {
  const query = { chain_id: 'ch-gone', node_id: 'nf' };
  const { status, body } = await bench.api.request('listSlotOffers', { query });
  expect([status, JSON.stringify(body)]).toEqual([422, expect.stringMatching(/"\/chain_id".*not-deployed/)]);
  const half = await bench.api.request('listSlotOffers', { query: { chain_id: 'ch-gone' } });
  expect([half.status, JSON.stringify(half.body)]).toEqual([400, expect.stringContaining('"/node_id"')]);
});
