import { readFileSync } from 'node:fs';
import { ChainDefinition, FLOW_SPACE, keptFlowKey, type SplitReading, SwitchAbilities } from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FakeSwitch } from './testing/fake-switch.js';
import { RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const EXAMPLE = new URL('../../contract/examples/valid/SwitchAbilities.takes-splits.json', import.meta.url);
const P4 = SwitchAbilities.parse(JSON.parse(readFileSync(EXAMPLE, 'utf8')));
const CHAIN = ChainDefinition.parse({
  name: 'web',
  title: 'Web',
  traffic_class: {
    from: ['client-1'],
    match: [{ attribute: 'ip.dst', value: '10.0.2.0/24' }],
    rate_bps: 1e8,
    packet_bytes: 1500,
  },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'ids', kind: 'nf', nf: 'ids' },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e1', from: 'in', to: 'ids' },
    { id: 'e2', from: 'ids', to: 'out' },
  ],
  slos: [],
});
const SLOW = { ...RACK, servers: RACK.servers.map((server) => ({ ...server, ghz: 0.01 })) };
const STAGED = { held: [{ lo: 0, hi: FLOW_SPACE }], exceptions: [], idle_timeout_s: 2 };

let server: TestServer;
let chain_id: string;
const leaf = (): FakeSwitch => server.switches.get(RACK.switches[0]!.id)!;
beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp(SLOW);
});
afterEach(() => server.stop());

async function deploy(options: object = {}) {
  const { id } = await server.api.call('createDeployment', { body: { chain_id, ...options } });
  expect(await server.finished(id)).toMatchObject({ state: 'COMPLETED', error: null });
}

/** Entries of the switch for the class; its split, if an engine has it. */
const steering = () => leaf().spec!.entries.filter(({ rule_id }) => rule_id?.startsWith('classify/'));
const events = async (type: string) => {
  const { items } = await server.api.call('listEvents', { query: { limit: 500 } });
  return items.filter((event) => event.type === type);
};

/** The first NF gets to know its flows, then further instances, while `read` is what its split tells. */
async function split(abilities: SwitchAbilities, read: SplitReading) {
  leaf().drivers = { ovs: abilities };
  await leaf().rebuild('ovs');
  for (const agent of server.agents.values()) agent.answers.set('read_split', read);
  ({ id: chain_id } = await server.api.call('createChain', { body: CHAIN }));
  await deploy();
  const before = steering();
  await deploy({ splits: [{ node_id: 'ids', staged: STAGED }] });
  expect(steering()).toEqual(before);
  await deploy({ splits: [{ node_id: 'ids', instances: 3, staged: STAGED }] });
  const now = await server.api.call('getSplit', { params: { chain_id, node_id: 'ids' } });
  expect(now).toMatchObject({ at: 'engine' });
  expect(steering()).toEqual(before);
  return before;
}

const flow = (port: number) => ({
  'ip.src': '10.0.1.1',
  'ip.dst': '10.0.2.1',
  'ip.proto': 6,
  'port.src': port,
  'port.dst': 80,
});
const at = (id: string) => ({ kind: 'instance' as const, instance_id: id });

it('hands the split over once few flows stay elsewhere, with these as entries of the switch', async () => {
  const before = await split(P4, { total: 500, untracked: 0, exceptions: [] });
  const [old] = [...server.agents.values()]
    .flatMap(({ spec }) => spec?.instances ?? [])
    .filter(({ id }) => id.startsWith('web.ids.0'));
  // What is edited meanwhile is none of its business.
  await server.api.call('putChain', { params: { id: chain_id }, body: { ...CHAIN, title: 'Draft' } });
  const { version } = await server.api.call('getDeployment', { params: { chain_id } });
  const exceptions = [1, 2].map((n) => ({ flow: flow(n), to: at(old!.id) }));
  for (const agent of server.agents.values()) agent.answers.set('read_split', { total: 2, untracked: 0, exceptions });
  await until('the switch has taken over', () => (leaf().spec?.exceptions ?? []).length === 2, 15_000);
  expect(steering()).not.toEqual(before);
  await until('it is told', async () => (await events('split.handed-over')).length === 1);
  const [{ data: told }] = (await events('split.handed-over')) as unknown as [{ data: { operation_id: string } }];
  const operation = await server.api.call('getOperation', { params: { id: told.operation_id } });
  expect(operation).toMatchObject({ state: 'COMPLETED', as_planned: true });
  expect((await server.api.call('getDeployment', { params: { chain_id } })).version).toBe(version);
  expect((await events('split.staged')).map(({ subject }) => subject)).toEqual([chain_id]);
  const now = () => server.api.call('getSplit', { params: { chain_id, node_id: 'ids' } });
  const { at: place, targets } = await now();
  expect([place, targets.length]).toEqual(['switch', 3]);

  // One of them goes again by the same steps, and the switch learns which flows still stay elsewhere.
  const kept = exceptions.map((it) => keptFlowKey(it.flow));
  leaf().answer = () => kept.slice(1);
  for (const agent of server.agents.values())
    agent.answers.set('read_split', { total: 0, untracked: 0, exceptions: [] });
  const fewer = { node_id: 'ids', instances: targets.length - 1, drain_s: 2 };
  await server.api.call('scaleDeployment', { params: { chain_id }, body: fewer });
  const scaling = async () => (await server.api.call('listScalings')).items[0]!;
  await until('one has gone', async () => (await scaling()).state !== 'running', 30_000);
  const steps = ['stage', 'settle', 'drain', 'empty', 'resize'];
  expect(await scaling()).toMatchObject({ state: 'completed', steps, error: null });
  expect(await now()).toMatchObject({ at: 'switch', staged: { exceptions: [{ flow: flow(2), ordinal: 0 }] } });
  expect((await now()).targets.map(({ instance_id }) => instance_id)).toEqual(
    targets.slice(0, -1).map(({ instance_id }) => instance_id),
  );
  expect(leaf().spec?.exceptions).toHaveLength(1);
  // Not again: the plan has it at the switch.
  await server.pause();
  server = await TestServer.start({ twin: true }, server.scratch);
  expect(await events('split.handed-over')).toHaveLength(1);
}, 60_000);

it('waits while many flows stay elsewhere, and says so once', async () => {
  const read = { total: 500, untracked: 0, exceptions: [] };
  const before = await split(P4, read);
  await until('it is told', async () => (await events('split.handover-waits')).length > 0, 15_000);
  // Another change of the chain does not begin it anew.
  await deploy({
    splits: [{ node_id: 'ids', instances: 3, staged: STAGED, keep_flows: { capacity: 999, idle_timeout_s: 60 } }],
  });
  const [{ message, data }] = (await events('split.handover-waits')) as unknown as [{ message: string; data: unknown }];
  expect(message).toMatch(/waits: more than 64 flows stay elsewhere/);
  expect(data).toMatchObject({ exceptions: 500, given_up: false });
  for (const agent of server.agents.values()) agent.answers.set('read_split', { ...read, total: 0 });
  await until('the switch has taken over', () => steering().length > before.length, 30_000);
  expect(await events('split.handover-waits')).toHaveLength(1);
  expect(await events('split.staged')).toHaveLength(1);
});

it('stays at the engine where the switch cannot take it over, and says why', async () => {
  const before = await split({ ...P4, takes_splits: false }, { total: 0, untracked: 0, exceptions: [] });
  await until('it is told', async () => (await events('split.handover-waits')).length > 0, 15_000);
  const [{ message }] = (await events('split.handover-waits')) as unknown as [{ message: string }];
  expect(message).toMatch(/was refused: its switches cannot take over a split, .* stays at the engines$/);
  expect(steering()).toEqual(before);
  expect(await server.api.call('getSplit', { params: { chain_id, node_id: 'ids' } })).toMatchObject({ at: 'engine' });
});
