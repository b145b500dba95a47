import type { LendingGroupRequest } from '@orrery/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chainOf } from './testing/board-bench.js';
import { RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

let server: TestServer;
let chain: string;

beforeAll(async () => {
  server = await TestServer.start();
  await server.api.call('putInfrastructure', { body: RACK });
  chain = (await server.api.call('createChain', { body: chainOf('nat', 'client-1') })).id;
});
afterAll(() => server.stop());

const request = (changes: object = {}) => ({
  title: 'Tunnels',
  chains: [chain],
  accelerators: [{ kind: 'instructions', server: 'server-1' }],
  ...changes,
});
const post = (changes: object) => server.api.request('createLendingGroup', { body: JSON.stringify(request(changes)) });

it('lending groups are created, replaced at the revision that was read, and deleted', async () => {
  const made = await post({});
  expect(made.status).toBe(201);
  const { id, revision, ...group } = made.body as Record<string, unknown> & { id: string; revision: number };
  expect(made.headers.get('location')).toBe(`/api/v1/lending-groups/${id}`);
  expect(group).toMatchObject({
    strategy: 'ssm',
    th_up: 0.75,
    th_low: 0.65,
    slice_s: 11,
    usage: 'cpu',
    state: 'without-vnfs',
    accelerators_now: [{ accelerator: 'server-1/instructions', state: 'away', holder: null, held_s: null }],
    members: [],
    fairness: null,
  });
  const params = { id };
  const put = (headers: Record<string, string>, changes: object) =>
    server.api.request('putLendingGroup', {
      params,
      headers,
      withoutIfMatch: true,
      body: JSON.stringify(request(changes)),
    });
  expect(await put({}, { slice_s: 5 })).toMatchObject({ status: 428 });
  const etag = `"${revision}"`;
  expect(await put({ 'if-match': etag }, { slice_s: 5 })).toMatchObject({ status: 200 });
  expect(await put({ 'if-match': etag }, { slice_s: 6 })).toMatchObject({ status: 412 });
  expect(await server.api.call('getLendingGroup', { params })).toMatchObject({ slice_s: 5, revision: revision + 1 });
  expect(await server.api.call('listLendingTurns', { params, query: { since: 0 } })).toEqual({ items: [], total: 0 });
  expect(await server.api.request('deleteLendingGroup', { params })).toMatchObject({ status: 204 });
  expect((await server.api.call('listLendingGroups')).items).toEqual([]);
  expect(await server.api.request('listLendingTurns', { params })).toMatchObject({ status: 404 });
  await until('all changes are told', async () => {
    const { items } = await server.api.call('listEvents', { query: { limit: 100 } });
    const told = items.filter(({ subject }) => subject === id).map(({ type }) => type);
    return told.join() === 'lending.added,lending.changed,lending.removed';
  });
});

it.each<[Partial<Record<keyof LendingGroupRequest, unknown>>, string]>([
  [{ th_low: 0.8 }, '/th_low'],
  [{ th_up: 1.5 }, '/th_up'],
  [{ slice_s: 0 }, '/slice_s'],
  [{ usage: 'bps' }, '/max_bps'],
  [{ chains: [] }, '/chains'],
  [{ chains: ['ch-none'] }, '/chains/0'],
  [{ nfs: [{ chain_id: 'ch-none', node_id: 'nf' }] }, '/nfs/0/chain_id'],
  [{ nfs: [{ chain_id: '$chain', node_id: 'none' }], chains: [] }, '/nfs/0/node_id'],
  [{ nfs: [{ chain_id: '$chain', node_id: 'nf' }], chains: [] }, '/nfs/0/node_id'],
  [{ accelerators: [] }, '/accelerators'],
  [{ accelerators: [{ kind: 'instructions', server: 'server-9' }] }, '/accelerators/0/server'],
  [{ accelerators: [1, 2].map(() => ({ kind: 'instructions', server: 'server-1' })) }, '/accelerators/1'],
  [{ strategy: 'best' }, '/strategy'],
])('%j is refused, and the field is named', async (changes, pointer) => {
  const refused = await post(JSON.parse(JSON.stringify(changes).replace('$chain', chain)));
  expect(refused.status).toBe(422);
  const { errors } = refused.body as { errors: { pointer: string }[] };
  expect(errors.map((each) => each.pointer)).toEqual([pointer]);
});

it('viewers can read lending groups and not change them; the loop can be paused', async () => {
  const viewer = await server.session('viewer');
  expect(await viewer.request('listLendingGroups')).toMatchObject({ status: 200 });
  expect(await viewer.request('createLendingGroup', { body: JSON.stringify(request()) })).toMatchObject({
    status: 403,
  });
  expect(await server.api.call('pauseLoop', { params: { id: 'lending' } })).toMatchObject({ state: 'paused' });
});
