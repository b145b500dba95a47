import { FLOW_SPACE, type FlowRange, type SplitSample } from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeAgent } from './testing/fake-agent.js';
import { RACK } from './testing/fixtures.js';
import { pairChain } from './testing/pair-chain.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

/** A firewall of one instance, and an IDS whose estimated load needs several: the engine of the firewall splits its flows. */
const CHAIN = pairChain({ first: 'firewall', rate_bps: 5e8 });

/** The rack with servers of slow cores, so that a rate that its links carry needs several. */
const SLOW = { ...RACK, servers: RACK.servers.map((server) => ({ ...server, ghz: 0.1 })) };

let server: TestServer;
let chain_id: string;
beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp(SLOW);
  ({ id: chain_id } = await server.api.call('createChain', { body: CHAIN }));
  const { id } = await server.api.call('createDeployment', { body: { chain_id } });
  expect(await server.finished(id)).toMatchObject({ state: 'COMPLETED', error: null });
});
afterEach(() => server.stop());

const params = (node_id = 'ids') => ({ chain_id, node_id });
const split = () => server.api.call('getSplit', { params: params() });
const rangesNow = async () => (await split()).targets.map(({ range }) => range);
const outputs = () =>
  [...server.agents.values()].flatMap(({ spec }) =>
    (spec?.instances ?? []).filter(({ node_id }) => node_id === 'fw').flatMap((it) => it.outputs),
  );

/** n ranges of which the first has one identity. */
function lopsided(n: number): FlowRange[] {
  const part = Math.floor(FLOW_SPACE / n);
  return Array.from({ length: n }, (_, i) => ({
    lo: i === 0 ? 0 : i * part - 200,
    hi: i === n - 1 ? FLOW_SPACE : (i + 1) * part - 200,
  }));
}

async function put(body: { ranges?: FlowRange[]; keep_flows?: { capacity: number; idle_timeout_s: number } | null }) {
  const operation = await server.api.call('putSplit', { params: params(), body });
  const ended = await server.finished(operation.id);
  expect(ended).toMatchObject({ state: 'COMPLETED', error: null, kind: 'deploy' });
  return ended;
}

it('change while the chain runs, by a plan that touches nothing but the engine that splits', async () => {
  const { items } = await server.api.call('listSplits', { params: { chain_id } });
  expect(items).toMatchObject([
    { node_id: 'ids', at: 'engine', keep_flows: { capacity: 65_536, idle_timeout_s: 60 }, displaced_per_s: null },
  ]);
  const equal = await rangesNow();
  expect(equal.length).toBeGreaterThan(1);
  const ranges = lopsided(equal.length);
  const keep_flows = { capacity: 500, idle_timeout_s: 7 };
  const { steps } = await put({ ranges, keep_flows });
  expect(steps.map(({ kind }) => kind)).toEqual(['switch-node']);
  expect(await rangesNow()).toEqual(ranges);
  expect(outputs()).toMatchObject([{ keep_flows, targets: ranges.map((range) => ({ range })) }]);

  // Ranges stay when something else changes, and are equal again when that is asked.
  const { id } = await server.api.call('createDeployment', { body: { chain_id } });
  await server.finished(id);
  expect(await rangesNow()).toEqual(ranges);
  await put({ keep_flows: null });
  expect(await split()).toMatchObject({ keep_flows: null });
  expect(await rangesNow()).toEqual(equal);
});

it('change only where they are as they were read, and by the plan that was shown', async () => {
  const read = await server.api.request('getSplit', { params: params() });
  const etag = read.headers.get('etag')!;
  expect(etag).toMatch(/^"[0-9a-f]{16}"$/);
  const ranges = lopsided((await rangesNow()).length);
  const attempt = async (body: object, ifMatch?: string) => {
    const { status, body: answer } = await server.api.request('putSplit', {
      params: params(),
      body: JSON.stringify(body),
      withoutIfMatch: true,
      ...(ifMatch && { headers: { 'if-match': ifMatch } }),
    });
    return { status, answer: answer as { id: string; detail?: string; errors?: { pointer: string; code: string }[] } };
  };
  expect(await attempt({ ranges })).toMatchObject({
    status: 428,
    answer: { errors: [{ code: 'precondition-required' }] },
  });
  const splits = [{ node_id: 'ids', ranges }];
  const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id, version: 1, splits }] } });
  const other = await attempt({ ranges, keep_flows: null, plan_id: plan.id }, etag);
  expect([other.status, other.answer.errors?.[0]?.pointer]).toEqual([422, '/plan_id']);
  const accepted = await attempt({ ranges, plan_id: plan.id }, etag);
  expect(accepted.status).toBe(202);
  // Before the operation is over: what is to run counts.
  const stale = await attempt({ keep_flows: null }, etag);
  expect(stale.status).toBe(412);
  expect(stale.answer.detail).toContain(etag.replaceAll('"', ''));
  expect(await server.finished(accepted.answer.id)).toMatchObject({ state: 'COMPLETED', plan_id: plan.id });
  const now = await server.api.request('getSplit', { params: params() });
  expect(now.headers.get('etag')).not.toBe(etag);
  const again = await attempt({ ranges, plan_id: plan.id }, now.headers.get('etag')!);
  expect([again.status, again.answer.errors?.[0]?.code]).toEqual([409, 'stale-plan']);
  // A change of something else leaves it as it was.
  await server.finished((await server.api.call('createDeployment', { body: { chain_id } })).id);
  expect((await server.api.request('getSplit', { params: params() })).headers.get('etag')).toBe(
    now.headers.get('etag'),
  );
});

it('are as they were after a restart of the server', async () => {
  const ranges = lopsided((await rangesNow()).length);
  await put({ ranges });
  const [{ node }] = [...server.agents.values()].filter(({ spec }) =>
    spec?.instances.some((it) => it.node_id === 'fw'),
  ) as [FakeAgent];
  await server.pause();
  server = await TestServer.start({ twin: true }, server.scratch);
  expect(await rangesNow()).toEqual(ranges);
  const { token } = await server.api.call('createJoinToken', { body: { node } });
  const agent = new FakeAgent(server.running.url, node, token);
  await agent.connect();
  server.agents.set(agent.node, agent);
  await until('it is told', () => agent.spec !== null);
  expect(outputs()).toMatchObject([{ targets: ranges.map((range) => ({ range })) }]);
});

it('are refused where they do not partition, or do not fit the NF, with the field', async () => {
  const n = (await rangesNow()).length;
  const refusal = async (body: object, node_id = 'ids') => {
    const { status, body: problem } = await server.api.request('putSplit', {
      params: params(node_id),
      body: JSON.stringify(body),
    });
    return [status, (problem as { errors?: { pointer: string }[] }).errors?.map(({ pointer }) => pointer)];
  };
  const gap = lopsided(n).map(({ lo, hi }, i) => ({ lo: i === 1 ? lo + 1 : lo, hi }));
  expect(await refusal({ ranges: gap })).toEqual([422, ['/ranges/1']]);
  expect(await refusal({ ranges: lopsided(n + 1) })).toEqual([422, ['/ranges']]);
  expect(await refusal({ keep_flows: { capacity: 0 } })).toEqual([422, ['/keep_flows/capacity']]);
  expect((await refusal({ ranges: lopsided(n) }, 'nobody'))[0]).toBe(404);
  expect((await refusal({ keep_flows: null }, 'fw'))[0]).toBe(409);
  const overload = lopsided(n).map((_, i) => (i === 0 ? { lo: 0, hi: FLOW_SPACE - n + 1 } : null));
  const ranges = overload.map((range, i) => range ?? { lo: FLOW_SPACE - n + i, hi: FLOW_SPACE - n + i + 1 });
  expect((await refusal({ ranges }))[0]).toBe(422);
  const { status, body } = await server.api.request('createPlan', {
    body: JSON.stringify({ chains: [{ chain_id, splits: [{ node_id: 'nobody', ranges: lopsided(n) }] }] }),
  });
  expect([status, (body as { errors: { pointer: string }[] }).errors[0]!.pointer]).toEqual([
    422,
    '/chains/0/splits/0/node_id',
  ]);
  const misfit = await server.api.request('createPlan', {
    body: JSON.stringify({ chains: [{ chain_id, splits: [{ node_id: 'ids', ranges: lopsided(n + 1) }] }] }),
  });
  expect([misfit.status, (misfit.body as { errors: { pointer: string }[] }).errors[0]!.pointer]).toEqual([
    422,
    '/chains/0/splits/0/ranges',
  ]);
  const deployed = await server.api.request('createDeployment', {
    body: JSON.stringify({ chain_id, splits: [{ node_id: 'ids', ranges: lopsided(n + 1) }] }),
  });
  expect([deployed.status, (deployed.body as { errors: { pointer: string }[] }).errors[0]!.pointer]).toEqual([
    422,
    '/splits/0/ranges',
  ]);
  expect(await rangesNow()).not.toEqual(lopsided(n));
});

it('have as many instances as were asked for, also in later plans, and move nothing but halves of ranges', async () => {
  const before = await rangesNow();
  const n = before.length + 1;
  const deploy = async (splits?: object[]) => {
    const body = { chain_id, ...(splits ? { splits } : {}) } as { chain_id: string };
    const { id } = await server.api.call('createDeployment', { body });
    expect(await server.finished(id)).toMatchObject({ state: 'COMPLETED', error: null });
  };
  await deploy([{ node_id: 'ids', instances: n }]);
  const after = await rangesNow();
  expect(after).toHaveLength(n);
  expect(after.slice(1, -1)).toEqual(before.slice(1));
  expect(after.at(-1)!.hi).toBe(before[0]!.hi);
  await deploy();
  expect(await rangesNow()).toEqual(after);
  // A change of ranges leaves the number, and without a number it is by load again.
  await put({ ranges: lopsided(n) });
  expect(await rangesNow()).toEqual(lopsided(n));
  await deploy([{ node_id: 'ids', instances: null }]);
  expect(await rangesNow()).toEqual(before);
  const { status, body } = await server.api.request('createDeployment', {
    body: JSON.stringify({ chain_id, splits: [{ node_id: 'ids', instances: 200 }] }),
  });
  expect([status, (body as { errors: { pointer: string }[] }).errors[0]!.pointer]).toEqual([
    422,
    '/splits/0/instances',
  ]);
});

it('tell the live share and the exceptions of each instance, also of one on another server', async () => {
  const splitting = [...server.agents.values()].find(({ spec }) =>
    spec?.instances.some(({ node_id }) => node_id === 'fw'),
  )!;
  const [output] = outputs();
  const told = (packets: number): SplitSample => ({
    from_id: 'web.fw.0',
    edge_id: output!.edge_id,
    tracks_flows: true,
    untracked: packets,
    displaced: 0,
    targets: output!.targets.map(({ to }, i) => ({
      to,
      packets: (i + 1) * packets,
      flows: 10 + i,
      exceptions: i,
    })),
  });
  let packets = 0;
  await until('it is measured', async () => {
    packets += 100;
    splitting.sample(0, 160, [told(packets)]);
    return (await split()).targets.every(({ live_share }) => live_share !== null);
  });
  const { targets, untracked_pps } = await split();
  expect(untracked_pps).toBeGreaterThan(0);
  const all = targets.reduce((sum, _, i) => sum + i + 1, 0);
  targets.forEach(({ live_share, flows, exceptions, pps }, i) => {
    expect(live_share).toBeCloseTo((i + 1) / all, 5);
    expect(pps).toBeGreaterThan(0);
    expect({ flows, exceptions }).toEqual({ flows: 10 + i, exceptions: i });
  });
});
