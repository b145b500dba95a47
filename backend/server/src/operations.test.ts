import { Infrastructure, nfInstances, type Operation } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isOver } from './ports/operation-log.js';
import type { FakeAgent } from './testing/fake-agent.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

/** One core each, which a chain fills: the next chain runs on another server. */
const SMALL = Infrastructure.parse({ ...RACK, servers: RACK.servers.map((server) => ({ ...server, cores: 1 })) });

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start({ twin: true, env: { ORRERY_STEP_TIMEOUT_MS: '1500' } });
  await server.bringUp(SMALL);
});
afterEach(() => server.stop());

function largeChain(name: string, from = 'client-1') {
  const chain = monitorChain(name, from);
  return { ...chain, traffic_class: { ...chain.traffic_class, rate_bps: RATE_BPS } };
}
const RATE_BPS = 900_000_000;

async function create(name: string, from?: string): Promise<string> {
  return (await server.api.call('createChain', { body: largeChain(name, from) })).id;
}
const deploy = (chain_id: string) => server.api.call('createDeployment', { body: { chain_id } });
const becomes = (id: string, state: Operation['state']) =>
  until(`${id} is ${state}`, async () => {
    const operation = await server.operation(id);
    if (isOver(operation) && operation.state !== state)
      throw new Error(`ended as ${operation.state}: ${operation.error?.detail}`);
    return operation.state === state ? operation : null;
  });
/** Deploys to a server whose agent then freezes, before it has done anything. */
async function deployOnFrozen(chain_id: string, agent: FakeAgent): Promise<Operation> {
  agent.hold = true;
  const operation = await deploy(chain_id);
  await until('the agent is told', () => (agent.spec?.instances.length ?? 0) > 0);
  await agent.kill();
  agent.hold = false;
  return operation;
}
/** The agent of the server on which the chain would run. */
async function hostOf(chain_id: string): Promise<FakeAgent> {
  const plan = await server.api.call('previewPlan', { body: { chains: [{ chain_id }] } });
  return server.agents.get(nfInstances(plan.graph)[0]!.server)!;
}
const instancesTold = () =>
  [...server.agents.values()].flatMap(({ spec }) => spec?.instances.map(({ id }) => id) ?? []);
const deployed = async () =>
  (await server.api.call('listDeployments')).items.map(({ chain_id, state }) => `${chain_id} ${state}`);
const byHand = (route: 'cancelOperation' | 'retryOperation' | 'rollbackOperation', id: string) =>
  server.api.request(route, { params: { id } });

describe('an operation that waits for a server that is away', () => {
  it('makes way for one that needs other servers, and completes when the server is back', async () => {
    const [first, second] = [await create('a'), await create('b', 'client-2')];
    const away = await hostOf(first);
    const waiting = await deployOnFrozen(first, away);
    const other = await deploy(second);
    expect((await server.finished(other.id)).state).toBe('COMPLETED');
    const aside = await server.operation(waiting.id);
    expect(aside).toMatchObject({ state: 'FAILED_TEMP', set_aside: { waiting_for: [away.node] } });
    expect(await deployed()).toEqual([`${second} running`]);
    const plan = await server.api.call('getPlan', { params: { id: (await server.operation(other.id)).plan_id! } });
    expect(plan.chains.map(({ chain_id }) => chain_id)).toEqual([second]);

    await away.connect();
    expect((await server.finished(waiting.id)).state).toBe('COMPLETED');
    expect((await deployed()).sort()).toEqual([`${first} running`, `${second} running`].sort());
  });

  it('ends without effect when another operation changes the same chain', async () => {
    const [first, second] = [await create('a'), await create('b', 'client-2')];
    const away = await hostOf(first);
    const waiting = await deployOnFrozen(first, away);
    await server.finished((await deploy(second)).id);
    await until('set aside', async () => (await server.operation(waiting.id)).set_aside !== null);
    await server.api.call('putChain', { params: { id: first }, body: { ...largeChain('a'), title: 'Newer' } });
    const newer = await deploy(first);
    expect((await server.finished(waiting.id)).state).toBe('ROLLED_BACK');
    await away.connect();
    expect((await server.finished(newer.id)).state).toBe('COMPLETED');
    expect(await server.api.call('getDeployment', { params: { chain_id: first } })).toMatchObject({ version: 2 });
  });
});

it('an operation that fails leaves no effect, although parts of it were applied', async () => {
  const [first, second] = [await create('a'), await create('b', 'client-2')];
  const host = await hostOf(first);
  host.hold = true;
  const failing = await deploy(first);
  await becomes(failing.id, 'FAILED_TEMP');
  expect(instancesTold()).toContain('a.monitor.0');
  host.hold = false;
  const other = await deploy(second);
  const ended = await server.finished(failing.id);
  expect(ended.state).toBe('FAILED');
  expect(ended.steps.filter(({ state }) => state === 'done')).toEqual([]);
  expect((await server.finished(other.id)).state).toBe('COMPLETED');
  expect(await deployed()).toEqual([`${second} running`]);
  expect(instancesTold()).toEqual(['b.monitor.0']);
  expect(server.steered.some((rule) => rule.includes(first) || rule.includes('a.'))).toBe(false);
});

it('operations are listed by filter, with the selected attributes only', async () => {
  const id = await create('a');
  const { id: operation } = await deploy(id);
  await server.finished(operation);
  const list = (query: string) =>
    fetch(new URL(`/api/v1/operations?${query}`, server.running.url), {
      headers: { authorization: `Bearer ${server.api.token}` },
    });
  const found = await list('filter=(in,state,COMPLETED,FAILED);(cont,steps/kind,prepare)&fields=id,steps/state');
  const { items, total } = (await found.json()) as { items: object[]; total: number };
  expect([total, items.map((item) => Object.keys(item))]).toEqual([1, [['id', 'steps']]]);
  expect(await (await list('filter=(eq,state,FAILED)')).json()).toEqual({ items: [], total: 0 });
  const refused = await list('filter=(eq,nothing,1)');
  expect([refused.status, await refused.json()]).toEqual([
    400,
    expect.objectContaining({
      errors: [expect.objectContaining({ pointer: '/filter', detail: expect.stringContaining('"nothing"') })],
    }),
  ]);
});

it('an operation goes on without a server that went away before it cleaned up, although nobody waits', async () => {
  const id = await create('a');
  const host = await hostOf(id);
  await server.finished((await deploy(id)).id);
  host.hold = true;
  const removal = await server.api.call('deleteDeployment', { params: { chain_id: id } });
  await until('the agent is told', () => host.spec?.instances.length === 0);
  await host.kill();
  const ended = await server.finished(removal.id);
  expect(ended).toMatchObject({
    state: 'PARTIALLY_COMPLETED',
    error: { detail: expect.stringContaining(`${host.node}: its agent is not connected`) },
  });
  expect(await deployed()).toEqual([]);
  const told = host.told.length;
  host.hold = false;
  await host.connect();
  await until('it is told when it is back', () => host.told.length > told);
  expect(instancesTold()).toEqual([]);
});

describe('by hand', () => {
  it('a new version is rolled back to the one before, and what cannot be done says why', async () => {
    const id = await create('a');
    const host = await hostOf(id);
    await server.finished((await deploy(id)).id);
    host.hold = true;
    const newer = { ...largeChain('a'), title: 'Newer' };
    newer.nodes = newer.nodes.map((node) => (node.kind === 'nf' ? { ...node, id: 'meter' } : node));
    newer.edges = newer.edges.map((edge) => JSON.parse(JSON.stringify(edge).replaceAll('"monitor"', '"meter"')));
    await server.api.call('putChain', { params: { id }, body: newer });
    const operation = await deploy(id);
    expect(operation.chains).toEqual([{ chain_id: id, from_version: 1, to_version: 2 }]);
    const early = await byHand('rollbackOperation', operation.id);
    expect([early.status, (early.body as { detail: string }).detail]).toEqual([
      409,
      expect.stringMatching(/FAILED_TEMP.*PROCESSING/),
    ]);
    await becomes(operation.id, 'FAILED_TEMP');
    expect((await byHand('cancelOperation', operation.id)).status).toBe(409);
    const answer = await byHand('rollbackOperation', operation.id);
    expect([answer.status, answer.headers.get('location')]).toEqual([202, `/api/v1/operations/${operation.id}`]);
    host.hold = false;
    host.reach();
    expect(await server.finished(operation.id)).toMatchObject({
      ...{ state: 'ROLLED_BACK', cancelled_by: null, rolled_back_by: operation.by },
    });
    expect(await server.api.call('getDeployment', { params: { chain_id: id } })).toMatchObject({
      version: 1,
      state: 'running',
    });
    expect(instancesTold()).toEqual(['a.monitor.0']);
    expect((await byHand('retryOperation', operation.id)).status).toBe(409);
    expect((await byHand('retryOperation', 'op-none')).status).toBe(404);
  });

  it('an operation is retried, and a queued one is cancelled at once', async () => {
    const [first, second] = [await create('a'), await create('b', 'client-2')];
    for (const agent of server.agents.values()) agent.hold = true;
    const running = await deploy(first);
    const queued = await deploy(second);
    expect((await byHand('cancelOperation', queued.id)).body).toMatchObject({
      state: 'ROLLED_BACK',
      cancelled_by: queued.by,
    });
    await becomes(running.id, 'FAILED_TEMP');
    expect((await byHand('retryOperation', running.id)).body).toMatchObject({ state: 'PROCESSING' });
    for (const agent of server.agents.values()) {
      agent.hold = false;
      agent.reach();
    }
    expect((await server.finished(running.id)).state).toBe('COMPLETED');
    expect(await deployed()).toEqual([`${first} running`]);
    const { items } = await server.api.call('listEvents', { query: { subject: queued.id } });
    expect(items.find(({ type }) => type === 'operation.rolled-back')?.actor).toBeTruthy();
  });

  it('one in progress is cancelled while the switches are being told', async () => {
    const id = await create('a');
    const [leaf] = [...server.switches.values()];
    leaf!.hold = true;
    const operation = await deploy(id);
    await until('switches are told', () => leaf!.rules.length > 0);
    await byHand('cancelOperation', operation.id);
    leaf!.hold = false;
    leaf!.reach();
    expect(await server.finished(operation.id)).toMatchObject({ state: 'ROLLED_BACK', cancelled_by: operation.by });
    expect(await deployed()).toEqual([]);
    expect(server.steered).toEqual([]);
    expect(instancesTold()).toEqual([]);
  });
});

it('a switch that cannot take entries yet fails nobody: the operation waits for the step time-out', async () => {
  await server.stop();
  server = await TestServer.start({ twin: true, env: { ORRERY_STEP_TIMEOUT_MS: '60000' } });
  await server.bringUp(SMALL);
  const [first, second] = [await create('a'), await create('b', 'client-2')];
  const [leaf] = [...server.switches.values()];
  leaf!.trouble = 'leaf-1 has no port to server-3';
  const operation = await deploy(first);
  const other = await deploy(second);
  await becomes(operation.id, 'FAILED_TEMP');
  leaf!.trouble = null;
  leaf!.reach();
  expect((await server.finished(operation.id)).state).toBe('COMPLETED');
  expect((await server.finished(other.id)).state).toBe('COMPLETED');
});
