import { ChainDefinition, type EngineAbility, nfInstances } from '@orrery/contract';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from './testing/fake-agent.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

/** NFs that only read, so that all of them may work on copies of a packet. */
const CHAIN = ChainDefinition.parse({
  name: 'web',
  title: 'Web',
  traffic_class: {
    from: ['client-1'],
    match: [{ attribute: 'ip.dst', value: '10.0.2.0/24' }],
    rate_bps: 1_000_000,
  },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'a', kind: 'nf', nf: 'ids' },
    { id: 'b', kind: 'nf', nf: 'sqli-detector' },
    { id: 'c', kind: 'nf', nf: 'monitor' },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e1', from: 'in', to: 'a' },
    { id: 'e2', from: 'a', to: 'b' },
    { id: 'e3', from: 'b', to: 'c' },
    { id: 'e4', from: 'c', to: 'out' },
  ],
  slos: [{ id: 'fast', kind: 'latency', percentile: 99, max_us: 20_000 }],
});

const ABILITIES: EngineAbility[] = [
  'mirror',
  'merge',
  'scheduler',
  'priority',
  'weighted-fair',
  'rate-limit',
  'round-robin',
];

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp(undefined, (agent) => {
    agent.abilities = ABILITIES;
  });
});
afterEach(() => server.stop());

async function deploy(body: { chain_id: string; execution?: 'parallel' | 'sequential'; schedule?: 'planned' }) {
  const { id } = await server.api.call('createDeployment', { body });
  expect(await server.finished(id)).toMatchObject({ state: 'COMPLETED', error: null });
}

const kinds = () =>
  [...server.agents.values()].flatMap(({ spec }) => (spec?.modules ?? []).map(({ kind }) => kind)).sort();
const deployment = (chain_id: string) => server.api.call('getDeployment', { params: { chain_id } });
const nodeOf = (kind: 'merge' | 'queue') =>
  [...server.agents.values()].find(({ spec }) => spec?.modules?.some((module) => module.kind === kind))!;

/** Reports five times a second what engines have counted. */
function traffic() {
  const timer = setInterval(() => {
    for (const agent of server.agents.values()) agent.sample(20);
  }, 200);
  onTestFinished(() => clearInterval(timer));
}

const series = async (prefix: string) =>
  (await server.api.call('listSamples', { query: { keys: prefix } })).items.map(({ key, unit, points }) => ({
    key,
    unit,
    last: points.at(-1)?.[1],
  }));

it('runs in parallel, in sequence and in parallel again: as a dry run, a deployment and its undo', async () => {
  const { id: chain_id } = await server.api.call('createChain', { body: CHAIN });
  await deploy({ chain_id });
  const before = (await deployment(chain_id)).plan_id;
  expect(kinds()).toEqual([]);

  const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id, execution: 'parallel' }] } });
  expect(plan).toMatchObject({ feasible: true, parallel: [{ reverted: false }] });
  const [form] = plan.parallel;
  expect(form!.latency_us).toBeLessThan(form!.sequential_us);
  const certified = await server.api.call('certifyPlan', { params: { id: plan.id }, body: { time_limit_s: 1 } });
  expect(certified.quality.length).toBeGreaterThan(0);
  const { id } = await server.api.call('createDeployment', { body: { plan_id: plan.id } });
  expect(await server.finished(id)).toMatchObject({ state: 'COMPLETED' });
  expect(kinds()).toEqual(['merge', 'mirror']);
  const parallel = nfInstances(plan.graph).map((nf) => nf.id);
  const { items } = await server.api.call('listNfInstances', { query: { chain_id } });
  expect(items.map((nf) => [nf.id, nf.state]).sort()).toEqual(parallel.map((nf) => [nf, 'running']).sort());

  // The mode stays when nobody asks for another one.
  await deploy({ chain_id });
  expect(kinds()).toEqual(['merge', 'mirror']);
  await deploy({ chain_id, execution: 'sequential' });
  expect(kinds()).toEqual([]);
  await deploy({ chain_id, execution: 'parallel' });
  const after = await deployment(chain_id);
  expect(after).toMatchObject({ state: 'running' });
  expect(after.plan_id).not.toBe(before);
});

it('is told as it was after a restart of the server, from the store', async () => {
  const { id: chain_id } = await server.api.call('createChain', { body: CHAIN });
  await deploy({ chain_id, execution: 'parallel' });
  const merge = nodeOf('merge');
  const told = { ...merge.spec! };
  await server.pause();
  server = await TestServer.start({ twin: true }, server.scratch);
  const { token } = await server.api.call('createJoinToken', { body: { node: merge.node } });
  const agent = new FakeAgent(server.running.url, merge.node, token);
  agent.abilities = ABILITIES;
  await agent.connect();
  server.agents.set(agent.node, agent);
  await until('it is told the same', () => agent.spec?.modules?.length === told.modules?.length);
  expect(agent.spec).toEqual(told);
});

it('samples its mirrors and merges, is judged at its one exit, and is degraded when the server of its merge is away', async () => {
  const { id: chain_id } = await server.api.call('createChain', { body: CHAIN });
  await deploy({ chain_id, execution: 'parallel' });
  traffic();
  const objective = async () => (await server.api.call('listSlos', { query: { chain_id } })).items[0];
  await until('its objective is met', async () => (await objective())?.state === 'met');
  await until('the merge is sampled', async () => (await series('module/web.a.merge/')).length > 0);
  const merge = Object.fromEntries((await series('module/')).map(({ key, last }) => [key, last]));
  expect(merge['module/web.a.merge/out_pps']).toBeGreaterThan(0);
  expect(merge['module/web.a.merge/pps']! / merge['module/web.a.merge/out_pps']!).toBeCloseTo(
    nodeOf('merge').spec!.modules!.flatMap((module) => (module.kind === 'merge' ? [module.branches.length] : []))[0]!,
    6,
  );
  expect(merge['module/web.a.merge/lost_pps']).toBe(0);
  expect(merge).not.toHaveProperty(['module/web.a.mirror/lost_pps']);

  const host = nodeOf('merge');
  await host.kill();
  await until('it is degraded', async () => (await deployment(chain_id)).state === 'degraded');
  expect((await deployment(chain_id)).reason).toContain(`${host.node}: its agent is not connected`);
});

it('runs with a planned schedule, whose queues and scheduler trees are sampled', async () => {
  const { id: chain_id } = await server.api.call('createChain', { body: CHAIN });
  await deploy({ chain_id, schedule: 'planned' });
  expect(kinds()).toEqual(['queue']);
  traffic();
  const host = nodeOf('queue');
  const { core, tree } = host.spec!.schedulers![0]!;
  const key = `scheduler/${host.node} ${core} ${tree.at(-1)!.id}/cpu`;
  await until('its scheduler is sampled', async () => (await series(key)).length > 0);
  expect(await series(key)).toEqual([{ key, unit: 'share', last: 0.1 }]);
  await until('its queues are sampled', async () => (await series('module/web.e1.queue/')).length > 0);
  expect((await series('module/web.e1.queue/waiting')).map(({ unit }) => unit)).toEqual(['packets']);
  expect((await deployment(chain_id)).state).toBe('running');
});
