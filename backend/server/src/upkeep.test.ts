import { ChainDefinition, type Event, nfInstances, type Problem } from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventsOf } from './testing/events.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const POLICY = { look_s: 0.5, hold_s: 0.1, min_gain_bps: 0, max_changes: 60 };

let server: TestServer;
let beat: NodeJS.Timeout;
let packets: number;

function twoNfs(): ChainDefinition {
  const { nodes, edges: _edges, slos: _slos, ...rest } = monitorChain('pair');
  const second = { id: 'second', kind: 'nf', nf: 'monitor' };
  const edges = ['in', 'monitor', 'second'].map((from, i) => ({
    id: `e${i}`,
    from,
    to: ['monitor', 'second', 'out'][i],
  }));
  return ChainDefinition.parse({ ...rest, nodes: [...nodes, second], edges, slos: [] });
}

const advice = () => server.api.call('getPlacementAdvice');
const events = async () => (await server.api.call('listEvents', { query: { limit: 500 } })).items as Event[];
const places = async () =>
  new Map((await server.api.call('listNfInstances')).items.map((it) => [it.node_id, it.server ?? null]));
const apart = async () => new Set((await places()).values()).size > 1;
const change = async (body: object) => server.api.call('putUpkeepPolicy', { body: { ...POLICY, ...body } });

/** Moves the second NF to where the first one is not. */
async function separate(): Promise<void> {
  const now = (await server.api.call('listNfInstances')).items;
  const second = now.find(({ node_id }) => node_id === 'second')!;
  const other = RACK.servers.find(({ id }) => id !== second.server)!.id;
  const plan = await server.api.call('createPlan', { body: { move: [{ instance: second.id, server: other }] } });
  const { id } = await server.api.call('createDeployment', { body: { plan_id: plan.id } });
  expect((await server.finished(id)).state).toBe('COMPLETED');
  expect(await apart()).toBe(true);
}

beforeEach(async () => {
  packets = 100;
  server = await TestServer.start({ twin: true });
  await server.bringUp(RACK, (agent) => {
    agent.loadOf = () => ({ cpu_share: 0.01, queue_depth: 0 });
  });
  await change({ enabled: false });
  const { id } = await server.api.call('createChain', { body: twoNfs() });
  const operation = await server.api.call('createDeployment', { body: { chain_id: id } });
  expect((await server.finished(operation.id)).state).toBe('COMPLETED');
  await separate();
  beat = setInterval(() => {
    for (const agent of server.agents.values()) agent.sample(packets);
  }, 50);
});
afterEach(async () => {
  clearInterval(beat);
  await server.stop();
});

it('a better placement is advised with drift, gain and disruption, and applied by whoever has read it; so is the policy', async () => {
  expect(await advice()).toMatchObject({ state: 'none', why: 'Upkeep is switched off.', compared_ms: null });
  await change({ mode: 'never' });
  await until('it is compared', async () => (await advice()).state === 'keep' && (await advice()).drift.length === 2);
  await change({ mode: 'ask' });
  await until('it is advised', async () => (await advice()).state === 'advise');
  const found = await advice();
  expect(found.gain).toMatchObject({ objectives: 0, overloaded_cores: 0 });
  expect(found.gain!.cross_traffic_percent).toBeCloseTo(100, 6);
  expect(found.gain!.cross_traffic_bps).toBeGreaterThan(1e6);
  const [drift] = found.drift;
  expect(drift!.measured_bps! / drift!.planned_bps - 1).toBeCloseTo(drift!.rate_error!, 6);
  expect(drift!.rate_error).toBeGreaterThan(1);
  expect(found.disruption).toMatchObject({ moved: [{}], states_moved: 1, states_lost: 0 });
  expect(eventsOf(await events(), 'upkeep.advised')).toHaveLength(1);
  expect(eventsOf(await events(), 'upkeep.policy')).toContainEqual(
    expect.objectContaining({ actor: 'admin', data: expect.objectContaining({ enabled: false }) }),
  );
  const plan = await server.api.call('getPlan', { params: { id: found.plan_id! } });
  expect(new Set(nfInstances(plan.graph).map((it) => it.server)).size).toBe(1);

  const apply = (headers: Record<string, string>) =>
    server.api.request('applyPlacementAdvice', { headers, withoutIfMatch: true });
  expect((await apply({})).status).toBe(428);
  expect((await apply({ 'if-match': '"99"' })).status).toBe(412);
  expect(await apart()).toBe(true);
  const revision = async () => `"${(await advice()).revision}"`;
  const applied = await until('what was read is applied', async () => {
    const answer = await apply({ 'if-match': await revision() });
    return answer.status === 202 ? answer : null;
  });
  expect(applied.headers.get('location')).toMatch(/^\/api\/v1\/operations\/op-/);
  await until('it is applied', async () => eventsOf(await events(), 'upkeep.applied').length > 0);
  expect(await apart()).toBe(false);
  await until('it is kept', async () => (await advice()).state === 'keep');
  expect((await apply({ 'if-match': '*' })).status).toBe(409);

  const put = (body: object, headers: Record<string, string> = {}) =>
    server.api.request('putUpkeepPolicy', { body: JSON.stringify(body), headers, withoutIfMatch: true });
  const refused = await put({ quiet_hours: { from: 24, to: 1 } }, { 'if-match': '*' });
  expect(refused.status).toBe(422);
  expect((refused.body as Problem).errors).toMatchObject([{ pointer: '/quiet_hours/from' }]);
  expect((await put({})).status).toBe(428);
});

it('nothing is applied by itself while a server is in maintenance, afterwards it is; a dismissed advice is not repeated', async () => {
  const used = [...(await places()).values()];
  const { id } = RACK.servers.find((it) => !used.includes(it.id))!;
  await server.api.call('beginMaintenance', { params: { id }, body: { reason: 'new memory' } });
  await change({ mode: 'auto' });
  await until('it waits', async () => (await advice()).why.endsWith(`Not applied yet: ${id} is in maintenance.`));
  expect(await apart()).toBe(true);
  await server.api.call('endMaintenance', { params: { id }, body: {} });
  await until('it is applied', async () => eventsOf(await events(), 'upkeep.applied').length > 0);
  expect(await apart()).toBe(false);
  const operations = (await server.api.call('listOperations', { query: { limit: 50 } })).items;
  expect(operations.filter(({ by }) => by === 'upkeep')).toMatchObject([{ kind: 'reconfigure', state: 'COMPLETED' }]);

  await change({ mode: 'ask' });
  await separate();
  await until('it is advised', async () => (await advice()).state === 'advise');
  await until('what was read is dismissed', async () => {
    const headers = { 'if-match': `"${(await advice()).revision}"` };
    const body = JSON.stringify({ hours: 1 });
    return (await server.api.request('dismissPlacementAdvice', { headers, body })).status === 200;
  });
  const { runs } = (await server.api.call('listLoops', { query: { limit: 100 } })).items.find(
    (it) => it.id === 'upkeep',
  )!;
  await until('it has looked again', async () => {
    const { items } = await server.api.call('listLoops', { query: { limit: 100 } });
    return items.find((it) => it.id === 'upkeep')!.runs > runs + 2;
  });
  expect(await advice()).toMatchObject({
    state: 'keep',
    why: expect.stringMatching(/Not advised: it was dismissed\.$/),
    dismissed_until_ms: expect.any(Number),
  });
});

it('what packets of an NF cost is learnt on request, after a dry run, and forgotten again', async () => {
  const nf = { params: { id: 'monitor' } };
  const cyclesOf = async () =>
    (await server.api.call('getNfDescriptor', nf)).implementations.find((it) => it.driver === 'engine')!.cost
      .cycles_per_packet;
  const before = await cyclesOf();
  await until('enough is measured', async () => {
    const { refusal } = await server.api.call('learnNfDescriptor', { ...nf, body: {} });
    return refusal === null;
  });
  const dry = await server.api.call('learnNfDescriptor', { ...nf, body: {} });
  expect(dry).toMatchObject({ learnt: false, measured: { origin: 'twin', declared: { cycles_per_packet: before } } });
  expect(dry.measured!.samples).toBeGreaterThanOrEqual(30);
  expect(await cyclesOf()).toBe(before);
  const { measured } = await server.api.call('learnNfDescriptor', { ...nf, body: { dry_run: false } });
  expect(await cyclesOf()).toBeCloseTo(before * measured!.factor, 3);
  expect((await server.api.call('getNfDescriptor', nf)).learnt).toMatchObject([
    { driver: 'engine', by: expect.any(String) },
  ]);
  await server.api.call('forgetNfDescriptor', nf);
  expect(await cyclesOf()).toBe(before);
  expect((await server.api.request('forgetNfDescriptor', nf)).status).toBe(404);
  const unused = { params: { id: 'firewall' }, body: JSON.stringify({ dry_run: false }) };
  expect((await server.api.request('learnNfDescriptor', unused)).status).toBe(409);
});
