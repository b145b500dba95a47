import { ChainDefinition, type Event, type MaintenanceChange, nfInstances } from '@orrery/contract';
import { seededRandom } from '@orrery/planner';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { eventsOf } from './testing/events.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

/** A good half of what the network card of a server carries, so that no two chains fit on one. */
const RATE_BPS = 550_000_000;
const ENV = { ORRERY_AGENT_STALE_MS: '600', ORRERY_STEP_TIMEOUT_MS: '60000' };

const POLICY = { grace_s: 0.2, stable_s: 0.2, max_changes: 100 };

let server: TestServer;
/** Of `server`; null: it does not run. */
let built: typeof RACK | null = null;
/** The newest event of the cases before. */
let since = '0-0';
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await stop();
});
afterAll(() => stop());

async function stop(): Promise<void> {
  if (built) await server.stop();
  built = null;
  since = '0-0';
}

/** Cases of one infrastructure share a server: each begins with all agents there and nothing deployed. */
async function start(policy: Record<string, unknown> = {}, infrastructure = RACK): Promise<void> {
  if (built === infrastructure) await clear();
  else {
    await stop();
    server = await TestServer.start({ twin: true, env: ENV });
    built = infrastructure;
    await server.bringUp(infrastructure);
  }
  await server.api.call('putHealingPolicy', { body: { ...POLICY, ...policy } });
}

/** What is left of the case before goes: it is healed first. */
async function clear(): Promise<void> {
  await server.api.call('putHealingPolicy', { body: POLICY });
  for (const agent of server.agents.values()) {
    agent.loadErrors.clear();
    agent.calls.length = 0;
    if (!agent.isConnected) await agent.connect();
  }
  for (const { id, maintenance } of await out())
    if (maintenance) await server.api.call('endMaintenance', { params: { id }, body: { return: false } });
  await until('all is kept', async () => (await server.api.call('listChainsNotKept')).total === 0);
  await until('nothing is out of service', async () => (await out()).length === 0);
  await server.removeChains();
  since = await server.newestEvent();
}

async function create(
  name: string,
  priority: number,
  more: Partial<ChainDefinition['traffic_class']> = {},
  slos: ChainDefinition['slos'] = [],
) {
  const port = 1000 + name.charCodeAt(0);
  const { traffic_class, ...base } = monitorChain(name);
  const match = [...traffic_class.match, { attribute: 'port.dst', value: port }];
  const body = ChainDefinition.parse({
    ...base,
    priority,
    slos,
    traffic_class: { ...traffic_class, ...more, match, rate_bps: RATE_BPS },
  });
  const chain = await server.api.call('createChain', { body });
  const { id } = await server.api.call('createDeployment', { body: { chain_id: chain.id } });
  expect((await server.finished(id)).state).toBe('COMPLETED');
  return chain.id;
}

const instances = async () => (await server.api.call('listNfInstances')).items;
const placeOf = async (chain: string) => (await instances()).find(({ chain_id }) => chain_id === chain)?.server ?? null;
const events = async () => (await server.api.call('listEvents', { query: { limit: 500, after: since } })).items;
const out = async () => (await server.api.call('listOutOfService')).items;
const running = async () =>
  (await server.api.call('listDeployments')).items.flatMap((it) => (it.state === 'running' ? it.chain_id : [])).sort();
const isRefusedReturn = ({ data }: { data: { what: string } }) => data.what === 'Return what left it: not possible';

// The first case: nothing has happened on its server before.
it('nothing is decided or stored while nothing happens', async () => {
  await start();
  await create('a', 50);
  const healing = async () =>
    (await server.api.call('listLoops', { query: { limit: 100 } })).items.find(({ id }) => id === 'healing')!;
  const before = await healing();
  // Each report of an agent wakes the loop.
  for (let i = 0; i < 20; i++) for (const agent of server.agents.values()) agent.report(agent.observed);
  await until('it has looked', async () => (await healing()).runs > before.runs);
  expect(await healing()).toMatchObject({ last_decision: null, failures: 0 });
  expect(eventsOf(await events(), 'healing.').map(({ type }) => type)).toEqual(['healing.policy']);
  expect((await server.api.call('listOperations', { query: { limit: 100 } })).total).toBe(1);
});

it('the policy is not overwritten unread, and names the field that is out of bounds', async () => {
  await start();
  const put = (body: Record<string, unknown>, withoutIfMatch = false) =>
    server.api.request('putHealingPolicy', { body: JSON.stringify(body), withoutIfMatch });
  expect((await put({}, true)).status).toBe(428);
  expect(await put({ grace_s: 0 })).toMatchObject({ status: 422, body: { errors: [{ pointer: '/grace_s' }] } });
  const { revision, ...policy } = await server.api.call('getHealingPolicy');
  expect(policy).toMatchObject({ enabled: true, grace_s: 0.2, return: 'by-origin' });
  const body = JSON.stringify({ ...policy, return: 'ask' });
  const stale = { 'if-match': `"${revision + 1}"` };
  expect((await server.api.request('putHealingPolicy', { body, headers: stale })).status).toBe(412);
  expect((await put({ ...policy, return: 'ask' })).body).toMatchObject({ return: 'ask', revision: revision + 1 });
});

describe('a server that is lost', () => {
  // Before the others: changes of the last ten minutes count.
  it('that comes and goes gets back what left it so often at most, and is done without each time', async () => {
    await start({ max_changes: 2, stable_s: 0.1 });
    const a = await create('a', 50);
    const changes = async () =>
      (await server.api.call('listOperations', { query: { limit: 100 } })).items.filter(({ by }) => by === 'healing');
    const place = (await placeOf(a))!;
    const fails = async () => {
      await server.agents.get(place)!.kill();
      await until('it is lost', async () => (await out()).some((it) => it.id === place && it.lost));
    };
    await fails();
    await server.agents.get(place)!.connect();
    await until('a is back', async () => eventsOf(await events(), 'healing.returned').length > 0);
    await fails();
    await until('a runs elsewhere', async () => ![place, null].includes(await placeOf(a)));
    await server.agents.get(place)!.connect();
    await until('the return is held back', async () => {
      const { items } = await server.api.call('listLoops', { query: { limit: 100 } });
      return items.find(({ id }) => id === 'healing')!.last_decision?.what === 'Hold back';
    });
    expect(await changes()).toHaveLength(3);
    expect(await placeOf(a)).not.toBe(place);
  });

  it('to which another one was just to move is done without as well', async () => {
    await start();
    const [low, high] = [await create('l', 10), await create('h', 90)];
    await create('m', 50);
    const [first, second] = [(await placeOf(high))!, (await placeOf(low))!];
    await server.agents.get(first)!.kill();
    // The second one is away when the move to it is planned, and is lost only after that.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await server.agents.get(second)!.kill();
    await until('the most important one runs on what is left', async () => {
      const place = await placeOf(high);
      const { total } = await server.api.call('listChainsNotKept');
      return place !== null && ![first, second].includes(place) && total === 2 && (await running()).join() === high;
    });
  });

  it('is done without, told with what is lost, and gets back what left it when it is well', async () => {
    await start();
    const [a, b] = [await create('a', 50), await create('b', 50)];
    const [first, second] = [(await placeOf(a))!, (await placeOf(b))!];
    await server.agents.get(first)!.kill();
    await until('a runs elsewhere', async () => {
      const place = await placeOf(a);
      return place !== first && (await running()).includes(a);
    });
    expect(await placeOf(b)).toBe(second);
    await until('it is told', async () => eventsOf(await events(), 'healing.moved').length > 0);
    const told = await events();
    const lost = { instances: ['a.monitor.0'], chains: [a] };
    expect(eventsOf(told, 'healing.lost')).toMatchObject([{ subject: first, data: lost }]);
    // Charts of the chain mark it, though the chain runs elsewhere by now.
    const query = { about: a, marked: 'true', limit: 500 } as const;
    const marked = (await server.api.call('listEvents', { query })).items.map(({ type }) => type);
    expect(marked).toEqual(expect.arrayContaining(['healing.lost', 'healing.moved']));
    expect(eventsOf(told, 'healing.not-kept')).toEqual([]);
    expect(await out()).toMatchObject([{ id: first, maintenance: null, lost: { why: 'its agent is not connected' } }]);
    const health = await server.api.call('getHealth');
    expect(health).toMatchObject({ status: 'degraded' });
    expect(health.parts.find(({ name }) => name === 'servers')).toMatchObject({
      status: 'degraded',
      detail: `${first} is lost: its agent is not connected`,
    });

    await server.agents.get(first)!.connect();
    await until('a is back', async () => (await placeOf(a)) === first && (await running()).length === 2);
    await until('nothing is out of service', async () => (await out()).length === 0);
    expect(eventsOf(await events(), 'healing.returned')).toMatchObject([{ subject: first }]);
    expect(server.agents.get(first)!.spec!.instances).toHaveLength(1);
  });

  it('costs the least important chain its place where there is too little room, until it is back', async () => {
    await start();
    const ids = {
      low: await create('l', 10, {}, [{ id: 'up', kind: 'availability', min_share: 0.5 }]),
      mid: await create('m', 50),
      high: await create('h', 90, { fail_closed: true }),
    };
    const lost = (await placeOf(ids.high))!;
    await server.agents.get(lost)!.kill();
    await until('the low one is told', async () => eventsOf(await events(), 'healing.not-kept').length > 0);
    await until('the others run', async () => {
      const now = await running();
      return now.length === 2 && now.includes(ids.high) && now.includes(ids.mid);
    });
    expect(eventsOf(await events(), 'healing.not-kept')).toMatchObject([
      { subject: ids.low, data: { slo_id: null, priority: 10, constraint: { constraint: expect.any(String) } } },
    ]);
    expect((await server.api.call('listChainsNotKept')).items).toMatchObject([
      { chain_id: ids.low, priority: 10, version: 1 },
    ]);
    const objectives = async () => (await server.api.call('listSlos', { query: { chain_id: ids.low } })).items;
    await until('its objective is missed', async () => (await objectives()).some(({ state }) => state === 'violated'));
    expect(await objectives()).toMatchObject([{ slo_id: 'up', cause: expect.stringContaining('want of room') }]);
    await server.agents.get(lost)!.connect();
    await until('all run again', async () => (await running()).length === 3);
    await until('it is accounted', async () => (await server.api.call('listChainsNotKept')).total === 0);
    expect(eventsOf(await events(), 'healing.kept-again')).toMatchObject([{ subject: ids.low }]);
  });

  it('has the return of what left it open until there is room, and tries again by itself where that is the policy', async () => {
    // A server that has told such a refusal before does not tell it again.
    await stop();
    await start({ return: 'ask' });
    const [a, b] = [await create('a', 50), await create('b', 50)];
    const first = (await placeOf(a))!;
    await server.agents.get(first)!.kill();
    await until('a runs elsewhere', async () => ![first, null].includes(await placeOf(a)));
    await server.agents.get(first)!.connect();
    await until('it is back', async () => (await out()).some(({ id, lost }) => id === first && lost === null));
    const c = await create('c', 50);
    expect(await placeOf(c)).toBe(first);

    const ended = await server.api.call('endMaintenance', { params: { id: first }, body: { return: true } });
    expect(ended).toMatchObject({ operation_id: null, part: { id: first, return_refused: expect.any(String) } });
    const { revision: _, ...policy } = await server.api.call('getHealingPolicy');
    await server.api.call('putHealingPolicy', { body: { ...policy, return: 'auto' } });
    await until('it has tried', async () => eventsOf(await events(), 'loop.decided').some(isRefusedReturn));
    expect(await out()).toMatchObject([{ id: first, operation_id: null, return_refused: expect.any(String) }]);
    await server.finished((await server.api.call('deleteDeployment', { params: { chain_id: c } })).id);
    await until('a is back', async () => (await placeOf(a)) === first && (await running()).length === 2);
    await until('nothing is out of service', async () => (await out()).length === 0);
    expect(await placeOf(b)).not.toBe(first);
  });

  it('costs a chain its place until it is deployed again by hand, or given up', async () => {
    await start({ max_changes: 1 });
    const low = await create('l', 10, { fail_closed: true });
    const [mid, high] = [await create('m', 50), await create('h', 90)];
    const lost = (await placeOf(high))!;
    const notKept = async () => (await server.api.call('listChainsNotKept')).items;
    const params = { chain_id: low };
    await server.agents.get(lost)!.kill();
    await until('it is not kept', async () => (await notKept()).length === 1 && (await running()).length === 2);
    const refused = await server.api.request('deployNotKept', { params });
    expect(refused.status).toBe(422);
    expect(await notKept()).toMatchObject([{ chain_id: low, operation_id: null }]);

    await server.agents.get(lost)!.connect();
    await until('it is used again', async () => (await out()).every((part) => part.lost === null));
    const again = await server.api.call('deployNotKept', { params });
    expect((await server.finished(again.id)).state).toBe('COMPLETED');
    await until('it is kept', async () => (await notKept()).length === 0);
    expect(await running()).toEqual([low, mid, high].sort());

    await server.api.call('beginMaintenance', { params: { id: lost }, body: { reason: 'x', force: true } });
    await until('it is not kept', async () => (await notKept()).length === 1 && (await running()).length === 2);
    const guarded = async () => (await server.api.call('previewPlan', { body: { chains: [] } })).guarded ?? [];
    expect(await guarded()).toMatchObject([{ chain_id: low }]);
    // Another chain of its name would have the same guard.
    const chain = await server.api.call('getChain', { params: { id: low } });
    expect((await server.api.request('deleteChain', { params: { id: low } })).status).toBe(409);
    const renamed = { ...chain.draft, name: 'other' };
    const headers = { 'if-match': `"${chain.revision}"` };
    const refusal = await server.api.request('putChain', {
      ...{ params: { id: low }, headers },
      body: JSON.stringify(renamed),
    });
    expect(refusal.status).toBe(409);
    await server.api.call('giveUpNotKept', { params });
    await until('its packets pass', async () => (await notKept()).length === 0);
    expect(await guarded()).toEqual([]);
    await server.api.call('deleteChain', { params: { id: low } });
    expect(eventsOf(await events(), 'healing.given-up')).toMatchObject([{ subject: low }]);
    expect((await server.api.request('giveUpNotKept', { params })).status).toBe(404);
  });

  it('that is well again is used again, also without healing, and nothing else is done then', async () => {
    await start();
    const a = await create('a', 50);
    const first = (await placeOf(a))!;
    await server.agents.get(first)!.kill();
    await until('a runs elsewhere', async () => {
      const place = await placeOf(a);
      return place !== null && place !== first;
    });
    const { revision: _, ...policy } = await server.api.call('getHealingPolicy');
    await server.api.call('putHealingPolicy', { body: { ...policy, enabled: false, return: 'never' } });
    expect(eventsOf(await events(), 'healing.policy')).toContainEqual(
      expect.objectContaining({ actor: 'admin', data: { ...policy, enabled: false, return: 'never' } }),
    );
    await server.agents.get(first)!.connect();
    await until('nothing is out of service', async () => (await out()).length === 0);
    const second = (await placeOf(a))!;
    await server.agents.get(second)!.kill();
    await create('b', 50);
    expect(await placeOf(a)).toBe(second);
    expect(await out()).toEqual([]);
  });
});

it('after each of ten random turns what runs is what a model says, and each loss and return is accounted for', async () => {
  await start({ stable_s: 0.1 });
  const low = await create('l', 10);
  const mid = await create('m', 50);
  const high = await create('h', 90);
  const ranked = [high, mid, low];
  const random = seededRandom(7);
  let alive = [...server.agents.keys()];
  for (let turn = 0; turn < 10; turn++) {
    const chosen = [...server.agents.keys()].filter(() => random() < 0.6);
    const next = chosen.length > 0 ? chosen : alive.slice(0, 1);
    for (const id of alive) if (!next.includes(id)) await server.agents.get(id)!.kill();
    for (const id of next) if (!alive.includes(id)) await server.agents.get(id)!.connect();
    alive = next;
    // One chain fits on a server: the most important ones are kept.
    const expected = ranked.slice(0, alive.length).sort();
    await until(`turn ${turn} ends with ${alive}`, async () => {
      const placed = await instances();
      const isConsistent = placed.length === expected.length && placed.every((it) => alive.includes(it.server));
      const notKept = (await server.api.call('listChainsNotKept')).total;
      return isConsistent && notKept === 3 - expected.length && (await running()).join() === expected.join();
    });
    const told = await events();
    for (const chain of ranked) {
      const count = (type: Event['type']) => told.filter((it) => it.type === type && it.subject === chain).length;
      expect(count('healing.not-kept') - count('healing.kept-again')).toBe(expected.includes(chain) ? 0 : 1);
    }
  }
  expect(eventsOf(await events(), 'healing.not-kept').length).toBeGreaterThan(2);
}, 180_000);

describe('maintenance', () => {
  it('shows what would move, drains the server with its flow state, keeps plans away, and returns only if asked', async () => {
    await start();
    const a = await create('a', 50);
    const place = (await placeOf(a))!;
    const ask = async (more: Record<string, unknown>) => {
      const body = JSON.stringify({ reason: 'new memory', ...more });
      const {
        status,
        headers,
        body: answer,
      } = await server.api.request('beginMaintenance', {
        params: { id: place },
        body,
      });
      return { status, location: headers.get('location'), ...(answer as MaintenanceChange) };
    };
    const seen = await ask({ dry_run: true });
    expect(seen).toMatchObject({ part: null, operation_id: null, moves: [{ from: place }], warnings: [], chains: [a] });
    expect(seen).toMatchObject({ status: 200, location: null });
    const shown = await server.api.call('getPlan', { params: { id: seen.plan_id! } });
    expect(shown).toMatchObject({ feasible: true, request: { without_servers: [place] } });
    expect(nfInstances(shown.graph)).toMatchObject([{ server: seen.moves[0]!.to }]);
    expect(await placeOf(a)).toBe(place);
    const begun = await ask({});
    expect(begun).toMatchObject({ status: 202, location: `/api/v1/operations/${begun.operation_id}`, plan_id: null });
    expect(begun).toMatchObject({ part: { id: place, maintenance: { reason: 'new memory' } }, moves: seen.moves });
    expect((await server.finished(begun.operation_id!)).state).toBe('COMPLETED');
    expect(await placeOf(a)).toBe(seen.moves[0]!.to);
    expect(server.agents.get(place)!.calls.map(({ method }) => method)).toContain('export_state');
    expect(
      (await server.api.request('beginMaintenance', { params: { id: place }, body: JSON.stringify({ reason: 'x' }) }))
        .status,
    ).toBe(409);

    await create('b', 50);
    const plan = await server.api.call('previewPlan', { body: { chains: [] } });
    expect(plan.excluded).toMatchObject({ servers: [place], lost_servers: [] });
    expect(nfInstances(plan.graph).map((it) => it.server)).not.toContain(place);

    const refused = await server.api.request('beginMaintenance', {
      params: { id: seen.moves[0]!.to },
      body: JSON.stringify({ reason: 'too much' }),
    });
    expect(refused.status).toBe(409);
    expect((refused.body as { detail: string }).detail).toContain('cannot be drained');
    expect((await out()).map(({ id }) => id)).toEqual([place]);

    const ended = await server.api.call('endMaintenance', { params: { id: place }, body: { return: true } });
    expect(ended).toMatchObject({ part: { maintenance: null, return_refused: null }, moves: [{ to: place }] });
    expect((await server.finished(ended.operation_id!)).state).toBe('COMPLETED');
    expect(await placeOf(a)).toBe(place);
    await until('nothing is out of service', async () => (await out()).length === 0);
  });

  it('is kept by a restart of the server, which goes on with a drain by force that a killed server had begun', async () => {
    await start();
    const [low, , high] = [await create('l', 10), await create('m', 50), await create('h', 90)];
    const place = (await placeOf(high))!;
    const body = { reason: 'new memory', force: true };
    const { not_kept } = await server.api.call('beginMaintenance', { params: { id: place }, body });
    expect(not_kept).toMatchObject([{ chain_id: low }]);
    await server.pause();
    const { scratch } = server;
    server = await TestServer.start({ twin: true, env: ENV }, scratch);
    expect(await out()).toMatchObject([{ id: place, maintenance: body }]);
    await server.bringUp(RACK);
    await until('it is drained', async () => {
      const [where, runs] = [await placeOf(high), await running()];
      return where !== null && where !== place && runs.length === 2 && !runs.includes(low);
    });
    await until('it is accounted', async () => (await server.api.call('listChainsNotKept')).total === 1);
  });

  it('by force takes nothing down for another part whose drain has not come about, and nothing new comes there', async () => {
    // The loop tries nothing again before it goes on.
    await start();
    await server.api.call('pauseLoop', { params: { id: 'healing' } });
    const [low, mid] = [await create('l', 10), await create('m', 50)];
    const [first, second] = [(await placeOf(low))!, (await placeOf(mid))!];
    const third = RACK.servers.map(({ id }) => id).find((id) => id !== first && id !== second)!;
    const begin = (id: string, body: Record<string, unknown>) =>
      server.api.call('beginMaintenance', { params: { id }, body: { reason: 'new memory', ...body } });
    const [move] = (await begin(second, { dry_run: true })).moves;
    server.agents.get(third)!.loadErrors.set(move!.instance, 'it does not start');
    const id = (await begin(second, {})).operation_id!;
    await until('it is stuck', async () => (await server.operation(id)).state === 'FAILED_TEMP');
    await server.api.call('rollbackOperation', { params: { id } });
    expect((await server.finished(id)).state).toBe('ROLLED_BACK');
    const high = await create('h', 90);
    expect([await placeOf(high), await placeOf(mid)]).toEqual([third, second]);

    const forced = await begin(first, { force: true });
    expect(forced).toMatchObject({ moves: [], not_kept: [{ chain_id: low }] });
    expect((await server.finished(forced.operation_id!)).state).toBe('COMPLETED');
    await server.api.call('resumeLoop', { params: { id: 'healing' } });
    // Who rolled back the other drain has called it off.
    await until('the other is in service', async () => (await out()).length === 1);
    expect(await running()).toEqual([mid, high].sort());
    expect(await placeOf(mid)).toBe(second);
    expect(eventsOf(await events(), 'healing.not-kept').map(({ subject }) => subject)).toEqual([low]);
    expect((await out()).map(({ id, in_use }) => `${id} ${in_use}`)).toEqual([`${first} false`]);
  });

  it('of a part that does not exist, or that is in service, is refused', async () => {
    await start();
    const begin = (id: string) =>
      server.api.request('beginMaintenance', { params: { id }, body: JSON.stringify({ reason: 'x' }) });
    expect((await begin('server-9')).status).toBe(404);
    const end = await server.api.request('endMaintenance', { params: { id: RACK.servers[0]!.id }, body: '{}' });
    expect(end.status).toBe(409);
    const empty = await server.api.request('beginMaintenance', {
      params: { id: RACK.servers[0]!.id },
      body: JSON.stringify({ reason: '' }),
    });
    expect(empty).toMatchObject({ status: 422, body: { errors: [{ pointer: '/reason' }] } });
  });

  // The last case: its server has another infrastructure.
  it('that is refused when it is asked for leaves nothing behind', async () => {
    const servers = RACK.servers.map((each, i) => (i === 2 ? { ...each, origin: 'live' as const } : each));
    await start({}, { ...RACK, servers });
    const away = servers[2]!.id;
    await server.agents.get(away)!.kill();
    await until('its agent is away', async () =>
      (await server.api.call('listNodes')).items.some(({ id, state }) => id === away && state !== 'connected'),
    );
    const [a] = [await create('a', 50), await create('b', 50)];
    const params = { id: (await placeOf(a))! };
    const refused = await server.api.request('beginMaintenance', { params, body: JSON.stringify({ reason: 'x' }) });
    expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining(`agent of ${away}`) } });
    const runs = async () =>
      (await server.api.call('listLoops', { query: { limit: 100 } })).items.find(({ id }) => id === 'healing')!.runs;
    const before = await runs();
    server.agents.get(params.id)!.report(server.agents.get(params.id)!.observed);
    await until('it has looked', async () => (await runs()) > before);
    expect(await out()).toEqual([]);
  });
});
