import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FakeSwitch } from './testing/fake-switch.js';
import { monitorChain } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

let server: TestServer;
let leaf: FakeSwitch;
let chainId: string;
const params = () => ({ id: leaf.node });

beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp();
  chainId = (await server.api.call('createChain', { body: monitorChain('web') })).id;
  const operation = await server.api.call('createDeployment', { body: { chain_id: chainId } });
  expect((await server.finished(operation.id)).state).toBe('COMPLETED');
  leaf = [...server.switches.values()].find(({ rules }) => rules.length > 0)!;
});
afterEach(() => server.stop());

const entries = (query = {}) =>
  server.api.call('listSwitchEntries', { params: params(), query: { limit: 1000, ...query } });

it('a switch reports planned entries, installed entries and abilities', async () => {
  const state = await server.api.call('getSwitch', { params: params() });
  const { spec } = leaf;
  expect(state).toMatchObject({ id: leaf.node, connected: true, description: { driver: 'ovs', software: 'fake' } });
  expect(state.planned).toMatchObject({ generation: spec!.generation, entries: spec!.entries.length });
  expect(state.planned!.tables.reduce((sum, each) => sum + each.entries, 0)).toBe(spec!.entries.length);
  expect(state.observed).toMatchObject({ state: 'converged', entries: spec!.entries.length });
  expect((await server.api.call('listSwitches')).items.map(({ id }) => id)).toEqual([...server.switches.keys()]);
  await leaf.kill();
  await until('the silence is seen', async () =>
    (await server.api.call('getSwitch', { params: params() })).connected ? null : true,
  );
  expect((await server.api.request('getSwitch', { params: { id: 'nowhere' } })).status).toBe(404);
});

it('entries and rules are listed by chain with the counters of their generation', async () => {
  const { spec } = leaf;
  const before = await entries();
  expect(before.items.map(({ index, chain_id, kind, packets, bytes, ...entry }) => entry)).toEqual(spec!.entries);
  expect(before.items.every(({ packets }) => packets === null)).toBe(true);
  const ofChain = await entries({ chain_id: chainId });
  expect(ofChain.items.length).toBe(spec!.entries.filter(({ rule_id }) => rule_id !== null).length);
  const { index, rule_id } = ofChain.items[0]!;

  const count = (generation: number) =>
    leaf.send({
      type: 'switch-samples',
      samples: {
        t_ms: Date.now(),
        interval_ms: 1000,
        lost: 0,
        generation,
        entries: [[index, 7, 700]],
        rules: [{ rule_id: rule_id!, packets: 7, bytes: 700 }],
        splits: [],
      },
    });
  count(spec!.generation);
  const counted = await until('the counters', async () => {
    const { items } = await entries({ rule_id });
    return items.some(({ packets }) => packets === 7) ? items : null;
  });
  expect(counted.filter((entry) => entry.index !== index).every(({ packets }) => packets === 0)).toBe(true);
  const rules = await server.api.call('listSwitchRules', { params: params() });
  const used = rules.items.find((rule) => rule.rule_id === rule_id);
  expect(used).toMatchObject({ chain_id: chainId, packets: 7, bytes: 700, entries: counted.length });
  expect((await server.api.call('getSwitch', { params: params() })).counted_ms).toBeGreaterThan(0);

  count(spec!.generation + 1);
  await until('counters of other entries count for none', async () =>
    (await entries({ rule_id })).items.every(({ packets }) => packets === null) ? true : null,
  );
});

it('packets leave traces in a switch that can, and the reason is told of one that cannot', async () => {
  const arm = (body: object, of = leaf.node) =>
    server.api.request('armTraces', { params: { id: of }, body: JSON.stringify(body) });
  expect(await arm({ count: 1 })).toMatchObject({
    status: 409,
    body: { detail: `${leaf.node} runs the driver ovs, which leaves no traces of packets.` },
  });
  expect((await arm({ count: 1 }, 'nowhere')).status).toBe(404);
  for (const [body, pointer] of [
    [{ count: 101 }, '/count'],
    [{ count: 1, port: '' }, '/port'],
    [{}, '/count'],
  ] as const)
    expect(await arm(body)).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });

  leaf.abilities = { ...leaf.abilities, traces: true };
  await leaf.kill();
  await leaf.connect();
  const steps = [{ step: 'sent', port: 'p2', bytes: 60 }];
  const traces = [{ sequence: 4, t_ns: 1, port: 'p1', bytes: 60, steps, left_out: 0 }];
  const asked: unknown[] = [];
  leaf.answer = (method, given) => {
    asked.push([method, given]);
    return { traces: method === 'read_traces' ? traces : [], armed: 3, lost: 0 };
  };
  expect(await arm({ count: 3, port: 'p1' })).toMatchObject({ status: 200, body: { traces: [], armed: 3 } });
  expect(await server.api.call('listTraces', { params: params(), query: { after: 3 } })).toMatchObject({ traces });
  expect(asked).toEqual([
    ['arm_traces', { count: 3, port: 'p1' }],
    ['read_traces', { after: 3 }],
  ]);

  leaf.answer = () => ({ traces: [{ sequence: 0 }], armed: 0, lost: 0 });
  expect((await server.api.request('listTraces', { params: params(), query: {} })).status).toBe(502);
  leaf.answer = () => {
    throw new Error('/port: the switch has no port p9');
  };
  expect(await arm({ count: 1, port: 'p9' })).toMatchObject({
    status: 502,
    body: { detail: `${leaf.node}: /port: the switch has no port p9` },
  });
  await leaf.kill();
  expect((await arm({ count: 1 })).status).toBe(502);
});
