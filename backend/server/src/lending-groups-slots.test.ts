import { afterAll, beforeAll, expect, it } from 'vitest';
import { BoardBench, type DeployedNf, SLOT } from './testing/board-bench.js';
import { until } from './testing/wait.js';

const ON_BOARD = /\.board-1-0$/;

let bench: BoardBench;

beforeAll(async () => {
  bench = await BoardBench.start();
});
afterAll(() => bench.stop());

const request = (changes: object = {}) => ({
  title: 'Slots',
  chains: [bench.alpha.chain_id, bench.beta.chain_id],
  accelerators: [{ kind: 'slot' as const, ...SLOT }],
  strategy: 'round-robin' as const,
  slice_s: 1,
  ...changes,
});
const serversOf = async () =>
  Object.fromEntries((await bench.api.call('listNfInstances')).items.map(({ nf, server }) => [nf, server]));

it('refuses slots that are not there or reserved, and says which', async () => {
  const pointersOf = async (changes: object) => {
    const refused = await bench.post('createLendingGroup', request(changes));
    expect(refused.status).toBe(422);
    return (refused.body as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer);
  };
  const slots = (...named: object[]) => ({ accelerators: named.map((it) => ({ kind: 'slot', ...it })) });
  expect(await pointersOf(slots({ board: 'board-9', slot: 0 }))).toEqual(['/accelerators/0/board']);
  expect(await pointersOf(slots({ ...SLOT, slot: 1 }))).toEqual(['/accelerators/0/slot']);
  expect(await pointersOf(slots(SLOT, SLOT))).toEqual(['/accelerators/1']);
  const params = { id: SLOT.board, slot: SLOT.slot };
  await bench.api.call('reserveSlot', { params, body: { reason: 'a test' } });
  expect(await pointersOf({})).toEqual(['/accelerators/0']);
  await bench.api.call('releaseSlot', { params });
});

it('lends a slot in turn by reconfigurations, which keeps everybody else out of it', async () => {
  const { api } = bench;
  const before = { places: await bench.places(), servers: await serversOf() };
  const { id } = await api.call('createLendingGroup', { body: request() });
  const params = { id };
  const turns = async () => (await api.call('listLendingTurns', { params, query: {} })).items;
  await until('each has had it', async () => {
    const over = (await turns()).filter(({ to_ms }) => to_ms !== null);
    return over.length >= 2 && over;
  });
  const all = await turns();
  expect(new Set(all.map(({ chain_id }) => chain_id)).size).toBe(2);
  expect(all.filter(({ ended }) => ended !== null).every(({ ended }) => ended === 'slice-over')).toBe(true);
  // One after the other.
  const oldest = all.toReversed();
  for (const [i, { from_ms }] of oldest.slice(1).entries()) expect(from_ms).toBeGreaterThanOrEqual(oldest[i]!.to_ms!);
  expect((await bench.runs()).every(({ cause }) => cause === 'lending')).toBe(true);

  await api.call('pauseLoop', { params: { id: 'lending' } });
  const [lent] = await until('it is held', async () => {
    const { accelerators_now } = await api.call('getLendingGroup', { params });
    return accelerators_now[0]!.state === 'held' && accelerators_now;
  });
  const now = await bench.places();
  const [holder, other] = ON_BOARD.test(now.alpha!) ? [bench.alpha, bench.beta] : [bench.beta, bench.alpha];
  expect(lent).toMatchObject({ accelerator: 'board-1/slot-0', origin: 'twin' });
  const refused = { status: 409, body: { detail: expect.stringContaining('"Slots"') } };
  const ask = (nf: DeployedNf, to: string, more = {}) => bench.post('createReconfiguration', { nf, to, ...more });
  expect(await ask(holder, 'software')).toMatchObject(refused);
  expect(await ask(other, 'board', { slot: SLOT, displaces: [holder] })).toMatchObject(refused);
  const plan = await api.call('createPlan', { body: { implementations: [{ ...holder, on: 'software' }] } });
  expect(plan.feasible).toBe(true);
  expect(await bench.post('createDeployment', { plan_id: plan.id })).toMatchObject(refused);
  const slot = { id: SLOT.board, slot: SLOT.slot };
  expect(await api.request('releaseSlot', { params: slot })).toMatchObject({ status: 409 });
  expect(await bench.places()).toEqual(now);

  await api.call('deleteLendingGroup', { params });
  await api.call('resumeLoop', { params: { id: 'lending' } });
  await until('all are where they were', async () => {
    const places = await bench.places();
    return Object.values(places).every((each) => !ON_BOARD.test(each));
  });
  expect({ places: await bench.places(), servers: await serversOf() }).toEqual(before);
});

it('ends the loan of a holder whose chain is taken down', async () => {
  const { api, alpha } = bench;
  const { id } = await api.call('createLendingGroup', { body: request({ chains: [alpha.chain_id], title: 'Alpha' }) });
  const held = () => api.call('listLendingTurns', { params: { id }, query: {} });
  await until('it is lent', async () => (await held()).items.length > 0);
  const { id: operation } = await api.call('deleteDeployment', { params: { chain_id: alpha.chain_id } });
  await bench.server.finished(operation);
  await until('it is free', async () => (await held()).items[0]!.ended === 'gone');
});
