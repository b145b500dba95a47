import {
  type Infrastructure,
  type ServicePool,
  ServicePoolDefinition,
  type ServiceRequestSpec,
} from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KEYS } from './platform/redis-keys.js';
import { eventsOf } from './testing/events.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const POOL = ServicePoolDefinition.parse({
  name: 'pool',
  title: 'Shared NFs',
  hosts: ['client-1', 'client-2'],
  nfs: [
    { nf: 'monitor', count: 2, rate_bps: 10_000_000 },
    { nf: 'ids', count: 2, rate_bps: 10_000_000 },
  ],
});

function asked(port: number, rest: Partial<ServiceRequestSpec> = {}): ServiceRequestSpec {
  return {
    pool: 'pool',
    from: ['client-1'],
    match: [{ attribute: 'port.dst', op: 'is', value: port }],
    functions: ['monitor', 'ids'],
    latency_us: 1_000_000,
    throughput_bps: 4_000_000,
    ...rest,
  };
}

/** Of a histogram: some milliseconds, and some microseconds. */
const [SLOW_BUCKET, FAST_BUCKET] = [300, 160];

let server: TestServer;
const poolNow = (): Promise<ServicePool> => server.api.call('getServicePool', { params: { id: 'pool' } });
const requestNow = (id: string) => server.api.call('getServiceRequest', { params: { id } });
const becomes = (id: string, state: string) =>
  until(`${id} is ${state}`, async () => {
    const request = await requestNow(id);
    return request.state === state ? request : null;
  });
const operations = async () =>
  (await server.api.call('listOperations', { query: { limit: 1000 } })).items.filter(({ id }) =>
    id.startsWith('op-ch-'),
  );

async function bringUp(infrastructure: Infrastructure = RACK): Promise<void> {
  await server.bringUp(infrastructure);
  await server.api.call('createServicePool', { body: POOL });
  await until('the pool is ready', async () => (await poolNow()).state === 'ready');
}

beforeEach(async () => {
  server = await TestServer.start({ twin: true });
});
afterEach(() => server.stop());

describe('service requests', () => {
  it('share instances, are enforced by classes of their ways, and are gone when they are released', async () => {
    await bringUp();
    expect((await poolNow()).instances.map(({ id, usable }) => [id, usable])).toEqual([
      ['monitor-1', true],
      ['monitor-2', true],
      ['ids-1', true],
      ['ids-2', true],
    ]);
    const { chain_id } = await poolNow();
    const body = JSON.stringify({ node_id: 'monitor-1', instances: 2 });
    const nf = { chain_id, node_id: 'monitor-1' };
    for (const answer of [
      await server.api.request('scaleDeployment', { params: { chain_id }, body }),
      await server.api.request('previewScaling', { params: { chain_id }, body }),
      await server.api.request('createScalingPolicy', { body: JSON.stringify({ nf }) }),
    ])
      expect(answer).toMatchObject({ status: 409, body: { detail: expect.stringContaining('service pool "pool"') } });
    expect((await server.api.call('listScalings')).total).toBe(0);
    const first = await server.api.call('createServiceRequest', { body: asked(80) });
    const second = await server.api.call('createServiceRequest', { body: asked(81, { functions: ['ids'] }) });
    expect(first).toMatchObject({ state: 'requested', why: null });
    expect(first.way!.stages.map(({ nf }) => nf)).toEqual(['monitor', 'ids']);
    await becomes(first.id, 'active');
    await becomes(second.id, 'active');
    const rules = () => server.steered.filter((id) => id.startsWith('classify/pool.'));
    expect(rules().sort()).toEqual(
      [first, second].map(({ id, way }) => `classify/pool.w${way!.number}-1.${id}`).sort(),
    );
    const { instances, requests } = await poolNow();
    expect(requests).toBe(2);
    expect(instances.reduce((sum, it) => sum + it.booked_bps, 0)).toBe(12_000_000);
    await server.api.call('deleteServiceRequest', { params: { id: first.id } });
    expect((await requestNow(first.id)).state).toBe('released');
    await until('its entries are gone', () => rules().length === 1);
    expect((await poolNow()).instances.reduce((sum, it) => sum + it.booked_bps, 0)).toBe(4_000_000);
    expect((await server.api.request('deleteServicePool', { params: { id: 'pool' } })).status).toBe(409);
    await server.api.call('deleteServiceRequest', { params: { id: second.id } });
    await server.api.call('deleteServicePool', { params: { id: 'pool' } });
    await until('the pool is gone', async () => (await server.api.call('listServicePools')).total === 0);
    expect((await server.api.call('listChains')).total).toBe(0);
    const { items } = await server.api.call('listEvents', { query: { limit: 1000 } });
    expect(new Set(eventsOf(items, 'service-request').map(({ type }) => type))).toEqual(
      new Set(['service-request.accepted', 'service-request.active', 'service-request.released']),
    );
  });

  it('in bulk are decided in turn, by what the former ones left, and enforced by one operation', async () => {
    await bringUp();
    const before = (await operations()).length;
    const requests = [1, 2, 3, 4, 5, 6].map((port) => asked(port));
    const dry = await server.api.call('createServiceRequests', { body: { requests, dry_run: true } });
    expect((await server.api.call('listServiceRequests')).total).toBe(0);
    const answer = await server.api.call('createServiceRequests', { body: { requests } });
    // Two of 4 Mbit/s in each instance of 10 Mbit/s.
    expect(answer).toMatchObject({ accepted: 4, refused: 2, dry_run: false });
    expect(dry.results.map(({ latency_us, why }) => [latency_us, why])).toEqual(
      answer.results.map(({ latency_us, why }) => [latency_us, why]),
    );
    expect(answer.results[4]!.why).toMatch(/has 2 Mbit\/s left of 4 Mbit\/s/);
    for (const { id } of answer.results.slice(0, 4)) await becomes(id!, 'active');
    expect((await operations()).length).toBe(before + 1);
    const late = await server.api.call('createServiceRequest', {
      body: asked(9, { latency_us: 0.5, throughput_bps: 1 }),
    });
    expect(late).toMatchObject({ state: 'refused', way: null, shortages: [{ constraint: 'latency' }] });
    expect(late.nearest_us).toBeGreaterThan(0.5);
    // However often the pool's chain changes, the store keeps a few versions of it.
    for (const port of [11, 12, 13, 14, 15, 16, 17]) {
      const { id } = await server.api.call('createServiceRequest', { body: asked(port, { throughput_bps: 1 }) });
      await becomes(id, 'active');
    }
    const { chain_id } = await poolNow();
    const { versions, deployed_version } = await server.api.call('getChain', { params: { id: chain_id } });
    expect(deployed_version).toBeGreaterThan(7);
    expect(versions.map(({ version }) => version)).toContain(deployed_version);
    expect(versions.length).toBeLessThan(7);
    expect(await server.running.store.redis.hlen(KEYS.versions(chain_id))).toBe(versions.length);
  });

  it('over two pools in one call take no packet of each other, and those of one moment all come to run', async () => {
    await bringUp();
    const one = { ...POOL, nfs: [{ ...POOL.nfs[0]!, count: 1 }] };
    await server.api.call('createServicePool', { body: { ...one, name: 'second', title: 'Second' } });
    const second = { params: { id: 'second' } };
    await until('it is ready', async () => (await server.api.call('getServicePool', second)).state === 'ready');
    const small = { functions: ['monitor'], throughput_bps: 1000 };
    const requests = [asked(7, small), asked(7, { ...small, pool: 'second' }), asked(8, { ...small, pool: 'second' })];
    const answer = await server.api.call('createServiceRequests', { body: { requests } });
    expect(answer.results.map(({ why }) => why)).toEqual([
      null,
      expect.stringContaining('belong to the request "client-1 (port.dst 7) → monitor" already'),
      null,
    ]);
    const others = await Promise.all(
      Array.from({ length: 12 }, (_, i) => server.api.call('createServiceRequest', { body: asked(100 + i, small) })),
    );
    for (const { id } of [answer.results[0]!, answer.results[2]!, ...others]) await becomes(id!, 'active');
    expect(server.steered.filter((id) => /^classify\/(pool|second)\./.test(id))).toHaveLength(14);
  });

  it('in bulk tell how far they have come while they are decided on, and book nothing once nobody waits for the answer', async () => {
    await bringUp();
    const requests = Array.from({ length: 4000 }, (_, i) => asked(i + 1, { throughput_bps: 1 }));
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${server.api.token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ requests, progress_id: 'bulk-1' });
    const url = `${server.running.url}/api/v1/service-requests/bulk`;
    const call = fetch(url, { method: 'POST', headers, body, signal: gone.signal }).catch(() => 'gone');
    const progress = () => server.api.request('getBulkProgress', { params: { id: 'bulk-1' } });
    await until('some are decided', async () => {
      const { status, body: told } = await progress();
      const { decided } = told as { decided: number };
      return status === 200 && decided > 0 && decided < requests.length;
    });
    gone.abort();
    expect(await call).toBe('gone');
    await until('it is over', async () => (await progress()).status === 404);
    expect((await server.api.call('listServiceRequests')).total).toBe(0);
  });

  it('are refused one by one where the switch has no entries left, and those before are enforced', async () => {
    await bringUp({ ...RACK, switches: RACK.switches.map((it) => ({ ...it, table_entries: 100 })) });
    const requests = Array.from({ length: 60 }, (_, i) => asked(i + 1, { functions: ['monitor'], throughput_bps: 1 }));
    const answer = await server.api.call('createServiceRequests', { body: { requests } });
    expect(answer.accepted).toBeGreaterThan(15);
    expect(answer.refused).toBeGreaterThan(5);
    expect(answer.results.at(-1)!.why).toMatch(/^leaf-1 has \d table entr/);
    for (const { id } of answer.results.slice(0, answer.accepted)) await becomes(id!, 'active');
    const [table] = (await server.api.call('listSwitches')).items;
    expect(table!.planned!.available - table!.planned!.entries).toBeLessThan(8);
  });

  it('are decided on anew where something else took their entries meanwhile, and only those without room are refused', async () => {
    await bringUp({ ...RACK, switches: RACK.switches.map((it) => ({ ...it, table_entries: 100 })) });
    await server.api.call('pauseLoop', { params: { id: 'service-requests' } });
    const requests = Array.from({ length: 60 }, (_, i) => asked(i + 1, { functions: ['monitor'], throughput_bps: 1 }));
    const { accepted, results } = await server.api.call('createServiceRequests', { body: { requests } });
    expect(accepted).toBeLessThan(60);
    for (const port of [1001, 1002, 1003, 1004]) {
      const { traffic_class, ...rest } = monitorChain(`other-${port}`);
      const match = [{ attribute: 'port.dst', op: 'is' as const, value: port }];
      const body = { ...rest, traffic_class: { ...traffic_class, match } };
      const { id } = await server.api.call('createChain', { body });
      await server.finished((await server.api.call('createDeployment', { body: { chain_id: id } })).id);
    }
    await server.api.call('resumeLoop', { params: { id: 'service-requests' } });
    const last = await becomes(results[accepted - 1]!.id!, 'refused');
    expect(last.why).toMatch(/^It could not be deployed\. leaf-1 has \d+ table entr/);
    await becomes(results[0]!.id!, 'active');
    const { items } = await server.api.call('listServiceRequests', { query: { limit: 1000 } });
    const count = (state: string) => items.filter((it) => it.state === state).length;
    expect(count('active') + count('refused')).toBe(accepted);
    expect(count('refused')).toBeLessThan(accepted);
  });

  it('are refused where other packets have the class, and name the field that is not valid', async () => {
    await bringUp();
    const { id } = await server.api.call('createChain', { body: monitorChain('other', 'client-2') });
    const { id: operation } = await server.api.call('createDeployment', { body: { chain_id: id } });
    await server.finished(operation);
    const first = await server.api.call('createServiceRequest', { body: asked(80) });
    const same = await server.api.call('createServiceRequest', { body: asked(80, { throughput_bps: 1 }) });
    const why =
      'Packets of client-1 that match belong to the request "client-1 (port.dst 80) → monitor → ids" already.';
    const where = first.id;
    expect(same).toMatchObject({ state: 'refused', why, shortages: [{ constraint: 'classifier', where }] });
    const others = await server.api.call('createServiceRequest', {
      body: asked(81, { from: ['client-2'], throughput_bps: 1 }),
    });
    expect(others).toMatchObject({ why: expect.stringContaining('the chain other'), shortages: [{ where: id }] });
    await until('time has passed', async () => Date.now() > others.updated_ms);
    const third = await server.api.call('createServiceRequest', { body: asked(80, { throughput_bps: 2 }) });
    // Forgetting what was refused is not asked for by the same words as giving back what is held.
    const drop = (of: string, query = {}) =>
      server.api.request('deleteServiceRequest', { params: { id: of }, query } as never);
    expect(await drop(same.id)).toMatchObject({ status: 409, body: { detail: 'The request is refused.' } });
    expect((await drop(first.id, { state: 'refused' })).status).toBe(409);
    expect((await drop(same.id, { state: 'refused' })).status).toBe(204);
    expect((await server.api.request('getServiceRequest', { params: { id: same.id } })).status).toBe(404);
    const dismiss = (query: object) => server.api.request('dismissServiceRequests', { query } as never);
    expect((await dismiss({})).status).toBe(400);
    expect((await dismiss({ state: 'active' })).status).toBe(400);
    const idsNow = async () => (await server.api.call('listServiceRequests')).items.map((it) => it.id);
    expect((await dismiss({ state: 'refused', pool: 'none' })).status).toBe(204);
    expect(await idsNow()).toEqual([third.id, others.id, first.id]);
    expect((await dismiss({ state: 'refused', until: others.updated_ms })).status).toBe(204);
    expect(await idsNow()).toEqual([third.id, first.id]);
    expect((await dismiss({ state: 'refused' })).status).toBe(204);
    expect(await idsNow()).toEqual([first.id]);
    const { items: events } = await server.api.call('listEvents', { query: { limit: 1000 } });
    const dismissed = eventsOf(events, 'service-request').filter(({ type }) => type === 'service-request.dismissed');
    expect(dismissed.map(({ data }) => data.requests.length)).toEqual([1, 1, 1]);
    expect((await dismiss({ state: 'released' })).status).toBe(204);
    expect(await idsNow()).toEqual([first.id]);
    await server.api.call('deleteServiceRequest', { params: { id: first.id } });
    // It was asked for before the others were seen, and given back after that.
    const seen = { state: 'released', until: third.updated_ms };
    for (const query of [{ state: 'refused' }, { state: 'released', pool: 'none' }, seen]) await dismiss(query);
    expect(await idsNow()).toEqual([first.id]);
    expect((await dismiss({ state: 'released', pool: 'pool' })).status).toBe(204);
    expect(await idsNow()).toEqual([]);
    const pointersOf = async (body: object) => {
      const answer = await server.api.request('createServiceRequest', { body: JSON.stringify(body) });
      expect(answer.status).toBe(422);
      return (answer.body as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer);
    };
    expect(await pointersOf(asked(1, { functions: ['ids', 'monitor'] }))).toEqual(['/functions/1']);
    expect(await pointersOf(asked(1, { from: ['server-9'] }))).toEqual(['/from/0']);
    expect(await pointersOf(asked(1, { throughput_bps: 1e13 }))).toEqual(['/throughput_bps']);
    const absurd = { ...POOL, name: 'absurd', nfs: [{ ...POOL.nfs[0]!, rate_bps: 1e13 }] };
    const refused = await server.api.request('createServicePool', { body: JSON.stringify(absurd) });
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/nfs/0/rate_bps' }] } });
    expect(await pointersOf(asked(1, { pool: 'none' }))).toEqual(['/pool']);
    expect(await pointersOf(asked(1, { match: [{ attribute: 'ids.verdict', op: 'is', value: 'safe' }] }))).toEqual([
      '/match/0/attribute',
    ]);
    const bulk = await server.api.request('createServiceRequests', {
      body: JSON.stringify({ requests: [asked(7), asked(8, { functions: ['nat'] })] }),
    });
    expect(bulk.body).toMatchObject({ errors: [{ pointer: '/requests/1/functions/0' }] });
  });

  it('take another way when an instance fails, or say what is missing until it is back', async () => {
    await bringUp();
    const request = await server.api.call('createServiceRequest', { body: asked(80) });
    await becomes(request.id, 'active');
    const places = new Set((await poolNow()).instances.map(({ place }) => place!));
    for (const place of places) await server.agents.get(place)!.kill();
    const broken = await becomes(request.id, 'broken');
    expect(broken).toMatchObject({ way: null, why: expect.stringContaining('does not work') });
    expect((await server.api.request('deleteServicePool', { params: { id: 'pool' } })).status).toBe(409);
    expect((await poolNow()).requests).toBe(1);
    for (const place of places) await server.agents.get(place)!.connect();
    await becomes(request.id, 'active');
    const { items } = await server.api.call('listEvents', { query: { limit: 1000 } });
    // What the server did on its own is told as its own.
    const told = eventsOf(items, 'service-request');
    const own = told.filter(({ type }) => type !== 'service-request.accepted').map(({ actor }) => actor);
    expect(new Set(own)).toEqual(new Set(['server']));
    expect(told.filter(({ actor }) => actor !== 'server')).toHaveLength(1);
    // Once all is well, the loop has nothing to do, whatever agents report.
    const runs = async () =>
      (await server.api.call('listLoops')).items.find(({ id }) => id === 'service-requests')!.runs;
    await until('nothing is waited for', async () => {
      const { items: loops } = await server.api.call('listLoops');
      return loops.find(({ id }) => id === 'service-requests')!.next_run_ms === null;
    });
    const before = await runs();
    for (let i = 0; i < 5; i++) for (const agent of server.agents.values()) await agent.reach();
    expect(await runs()).toBe(before);
  });

  it('are late while they miss their bounds, and take a way that keeps them as soon as there is one', async () => {
    await server.bringUp(RACK);
    // A good half of what the network card of a server carries, so that they are on two.
    const nfs = [{ ...POOL.nfs[0]!, count: 2, rate_bps: 550_000_000 }];
    await server.api.call('createServicePool', { body: { ...POOL, nfs } });
    await until('the pool is ready', async () => (await poolNow()).state === 'ready');
    const { instances } = await poolNow();
    expect(new Set(instances.map(({ place }) => place)).size).toBe(2);
    const wanted = { functions: ['monitor'], latency_us: 1000, throughput_bps: 1000 };
    const { id, way } = await server.api.call('createServiceRequest', { body: asked(80, wanted) });
    await becomes(id, 'active');
    const [first] = way!.stages;
    const measured = (other: number) => {
      for (const { place } of instances)
        server.agents.get(place!)!.sample(10, place === first!.place ? SLOW_BUCKET : other);
      return requestNow(id);
    };
    const late = await until('it is late, and no other way is left', async () => {
      const now = await measured(SLOW_BUCKET);
      return now.state === 'late' && now.why !== null ? now : null;
    });
    expect(late).toMatchObject({
      way,
      why: expect.stringMatching(/^No other way keeps the bound\. The fastest way takes/),
    });
    expect(late.measured.latency_us).toBeGreaterThan(1000);
    const active = await until('it has taken another way', async () => {
      const now = await measured(FAST_BUCKET);
      return now.state === 'active' && now.way!.stages[0]!.instance !== first!.instance ? now : null;
    });
    expect(active).toMatchObject({ why: null, shortages: [] });
    expect((await poolNow()).instances.find((it) => it.id === first!.instance)!.booked_bps).toBe(0);
    const { items } = await server.api.call('listEvents', { query: { limit: 1000 } });
    const told = eventsOf(items, 'service-request').map(({ type }) => type.slice('service-request.'.length));
    expect(told).toEqual(['accepted', 'active', 'late', 'accepted', 'active']);
    // Without packets no bound is missed, and nothing is left to do.
    await server.api.call('deleteServiceRequest', { params: { id } });
    await until('no bound is watched', async () => {
      const { items: loops } = await server.api.call('listLoops');
      return loops.find((it) => it.id === 'service-request-bounds')!.next_run_ms === null;
    });
  });

  it('wait for room with a pool that was left out, which only its own loop deploys again, until it is given up', async () => {
    await server.bringUp(RACK);
    await server.api.call('putHealingPolicy', { body: { grace_s: 0.2, stable_s: 0.2, max_changes: 100 } });
    // A good half of what the network card of a server carries, so that no two chains fit on one.
    const rate_bps = 550_000_000;
    const nfs = [{ ...POOL.nfs[0]!, count: 1, rate_bps }];
    const { chain_id } = await server.api.call('createServicePool', { body: { ...POOL, nfs } });
    await until('the pool is ready', async () => (await poolNow()).state === 'ready');
    for (const port of [1001, 1002]) {
      const { traffic_class, ...rest } = monitorChain(`high-${port}`);
      const match = [{ attribute: 'port.dst', op: 'is' as const, value: port }];
      const body = { ...rest, priority: 90, slos: [], traffic_class: { ...traffic_class, match, rate_bps } };
      const { id } = await server.api.call('createChain', { body });
      await server.finished((await server.api.call('createDeployment', { body: { chain_id: id } })).id);
    }
    const request = await server.api.call('createServiceRequest', {
      body: asked(80, { functions: ['monitor'], throughput_bps: 1000 }),
    });
    await becomes(request.id, 'active');
    const { items: running } = await server.api.call('listNfInstances');
    const agent = server.agents.get(running.find((it) => it.chain_id !== chain_id)!.server!)!;
    const isNotKept = async () => (await server.api.call('listChainsNotKept')).items.length === 1;
    const params = { chain_id };
    await agent.kill();
    await until('the pool is not kept', isNotKept);
    await becomes(request.id, 'broken');
    expect((await server.api.request('deployNotKept', { params })).status).toBe(409);
    await agent.connect();
    await becomes(request.id, 'active');
    await until('it is kept', async () => !(await isNotKept()));
    const { items: made } = await server.api.call('listOperations', { query: { limit: 1000 } });
    const deployed = made.filter(({ chains }) =>
      chains.some((it) => it.chain_id === chain_id && it.from_version === null && it.to_version !== null),
    );
    expect(deployed.length).toBeGreaterThan(1);
    expect(deployed.filter(({ by }) => by === 'healing')).toEqual([]);

    await agent.kill();
    await until('the pool is not kept', isNotKept);
    await until('it is given up', async () => (await server.api.request('giveUpNotKept', { params })).status === 204);
    expect(await poolNow()).toMatchObject({ state: 'failed', detail: expect.stringContaining('given up') });
    await agent.connect();
    await until('it is used again', async () => (await server.api.call('listOutOfService')).total === 0);
    const late = await server.api.request('createServiceRequest', { body: JSON.stringify(asked(81)) });
    expect(late).toMatchObject({ status: 422, body: { errors: [{ pointer: '/pool' }] } });
    await becomes(request.id, 'broken');
    await server.api.call('deleteServiceRequest', { params: { id: request.id } });
    await server.api.call('deleteServicePool', { params: { id: 'pool' } });
    await until('the pool is gone', async () => (await server.api.call('listServicePools')).total === 0);
  });

  it('go on without a server that is lost, while an operation of their pool that needs it was set aside', async () => {
    await bringUp();
    await server.api.call('putHealingPolicy', { body: { grace_s: 0.2, stable_s: 0.2, max_changes: 100 } });
    const first = await server.api.call('createServiceRequest', { body: asked(80) });
    await becomes(first.id, 'active');
    const { instances } = await poolNow();
    const lost = instances.find(({ id }) => id === first.way!.stages[0]!.instance)!.place!;
    await server.agents.get(lost)!.kill();
    // Both need the lost server, as far as anybody knows.
    const second = await server.api.call('createServiceRequest', { body: asked(81, { throughput_bps: 7_000_000 }) });
    expect(second.way!.stages[0]!.instance).not.toBe(first.way!.stages[0]!.instance);
    const { id } = await server.api.call('createChain', { body: monitorChain('other', 'client-2') });
    await server.api.call('createDeployment', { body: { chain_id: id } });
    for (const it of [first, second]) await becomes(it.id, 'active');
    await until('nothing needs it', async () => (await poolNow()).instances.every(({ place }) => place !== lost));
  });
});
