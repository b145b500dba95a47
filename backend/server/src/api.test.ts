import {
  API_PREFIX,
  ChainDefinition,
  type FieldError,
  type Problem,
  ROUTES,
  type RouteDefinition,
  type RouteName,
} from '@orrery/contract';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { entryOf } from './modules/events/event-codec.js';
import { unavailable } from './platform/problem.js';
import { KEYS } from './platform/redis-keys.js';
import type { CallOptions } from './testing/client.js';
import { IDS_CHAIN, monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
  await server.api.call('putInfrastructure', { body: RACK });
});
afterAll(() => server.stop());

const json = (value: unknown): string => JSON.stringify(value);
const chain = (change: (draft: ChainDefinition) => void): ChainDefinition => {
  const draft = structuredClone(IDS_CHAIN);
  draft.name = 'bad-chain';
  change(draft);
  return draft;
};

/** Calls the route and expects problem details with this status. */
async function refusal(name: RouteName, options: CallOptions, status: number): Promise<Problem> {
  const answer = await server.api.request(name, options);
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toMatch('application/problem+json');
  const problem = answer.body as Problem;
  expect(problem).toMatchObject({ status, request_id: answer.headers.get('x-request-id') });
  return problem;
}
const pointers = ({ errors }: Problem) => (errors ?? []).map(({ pointer }: FieldError) => pointer);

describe('invalid bodies', () => {
  const rack = (change: (copy: typeof RACK) => void) => {
    const copy = structuredClone(RACK);
    change(copy);
    return copy;
  };
  const board = (id: string): (typeof RACK)['boards'][number] => ({
    id,
    origin: 'twin',
    server: 'server-1',
    attached: 'server',
    profile: 'de5',
    device: 'test',
    slots: 1,
    clock_mhz: 200,
    resources: {},
    bandwidth_bps: 1e10,
    latency_us: 1,
    load_s: { full: 1, partial: 1 },
    cost: 1,
  });
  const cases: [string, RouteName, unknown, string][] = [
    ['an unknown field', 'createChain', { ...monitorChain('x'), colour: 'red' }, '/colour'],
    ['an unknown field deep inside', 'createChain', chain((d) => Object.assign(d.nodes[1]!, { x: 1 })), '/nodes/1/x'],
    ['a missing field', 'createChain', { ...monitorChain('x'), title: undefined }, '/title'],
    ['a bad name', 'createChain', { ...monitorChain('x'), name: 'Not A Name' }, '/name'],
    ['no body', 'createChain', undefined, ''],
    ['not an object', 'createChain', [], ''],
    ['a link to nowhere', 'putInfrastructure', rack((r) => (r.links[0]!.a.node = 'nobody')), '/links/0/a/node'],
    ['a port used twice', 'putInfrastructure', rack((r) => (r.links[1]!.b = r.links[0]!.b)), '/links/1/b/port'],
    ['an unknown card', 'putInfrastructure', rack((r) => (r.links[0]!.a.port = 'nic9')), '/links/0/a/port'],
    ['an id used twice', 'putInfrastructure', rack((r) => (r.hosts[1]!.id = r.hosts[0]!.id)), '/hosts/1/id'],
    [
      'an address used twice',
      'putInfrastructure',
      rack((r) => (r.hosts[1]!.addresses = r.hosts[0]!.addresses)),
      '/hosts/1/addresses/0/address',
    ],
    ...['198.18.3.4', '127.0.0.1', '239.1.1.1', 'fe80::1', 'fd00:0:0::1'].map((address): (typeof cases)[number] => [
      `address ${address}`,
      'putInfrastructure',
      rack((r) => r.hosts[0]!.addresses.push({ address })),
      '/hosts/0/addresses/1/address',
    ]),
    [
      'an address on a port without a link',
      'putInfrastructure',
      rack((r) => r.hosts[0]!.addresses.push({ address: '10.9.9.9', port: 'eth7' })),
      '/hosts/0/addresses/1/port',
    ],
    [
      "an address on the data plane's network card",
      'putInfrastructure',
      rack((r) => r.servers[0]!.addresses.push({ address: '10.9.9.9' })),
      '/servers/0/addresses/0/port',
    ],
    [
      'more jitter than delay',
      'putInfrastructure',
      rack((r) => Object.assign(r.links[1]!, { delay_us: 10, jitter_us: 11 })),
      '/links/1/jitter_us',
    ],
    [
      'a board named as containers',
      'putInfrastructure',
      rack((r) => r.boards.push(board('container'))),
      '/boards/0/id',
    ],
    ['a board twice', 'putInfrastructure', rack((r) => r.boards.push(board('b'), board('b'))), '/boards/1/id'],
    ['a bad secret type', 'createSession', { secret: 5 }, '/secret'],
    ['a plan of an undeployed removal', 'createPlan', { remove: ['ch-none'] }, '/remove/0'],
    [
      'a plan that excludes an unknown board',
      'createPlan',
      { without_slots: [{ board: 'none', slot: 0 }] },
      '/without_slots/0/board',
    ],
    [
      'a rate beyond the bound',
      'createApplication',
      { id: 'a', kind: 'http-client', node: 'a', config: { to: 'b', rate_per_s: 1e9 } },
      '/config/rate_per_s',
    ],
  ];
  it.each(cases)('%s: 422 names the field', async (_, name, body, pointer) => {
    const problem = await refusal(name, { body: body === undefined ? undefined : json(body) }, 422);
    expect(pointers(problem)).toContain(pointer);
  });

  it('malformed JSON: 400', async () => {
    await refusal('createChain', { body: '{"name":' }, 400);
  });

  it('10 MB: 413', async () => {
    await refusal('createChain', { body: json({ ...monitorChain('x'), description: 'x'.repeat(10_000_000) }) }, 413);
  });

  it('another media type: 415', async () => {
    await refusal('createChain', { body: 'name: x', headers: { 'content-type': 'application/yaml' } }, 415);
    await refusal('createChain', { body: 'x', headers: { 'content-type': 'application/octet-stream' } }, 415);
  });

  it('a prototype in JSON', async () => {
    const problem = await refusal('createChain', { body: '{"nodes":[{"__proto__":{"admin":true}}]}' }, 422);
    expect(problem.errors).toMatchObject([{ pointer: '/nodes/0/__proto__', code: 'unknown-field' }]);
  });
});

describe('captures', () => {
  const upload = (bytes: Buffer, status: number) =>
    refusal(
      'uploadPcap',
      { query: { name: 'x.pcap' }, body: bytes, headers: { 'content-type': 'application/octet-stream' } },
      status,
    );

  it('that are not captures: 422', async () => {
    expect((await upload(Buffer.from('GIF89a, surely not packets'), 422)).errors).toMatchObject([
      { code: 'not-a-pcap' },
    ]);
  });

  it.each(['d4c3b2a10200', `0a0d0d0a1c${'00'.repeat(20)}`])(
    'that are truncated within the header: 422',
    async (hex) => {
      expect((await upload(Buffer.from(hex, 'hex'), 422)).detail).toMatch('ends within its header');
    },
  );

  it('without a twin to store them: 409', async () => {
    const header = Buffer.alloc(24);
    header.write('d4c3b2a1', 'hex');
    expect((await upload(header, 409)).detail).toMatch('ORRERY_TWIN=off');
  });
});

describe('semantic errors of a chain', () => {
  const cases: [string, ChainDefinition, string, string][] = [
    ['a cycle', chain((d) => d.edges.push({ id: 'back', from: 'monitor', to: 'ids', filter: [] })), 'cycle', '/edges'],
    [
      'a bad prefix',
      chain((d) => (d.traffic_class.match = [{ attribute: 'ip.dst', op: 'is', value: '10.0.0.0/64' }])),
      'bad-filter',
      '/traffic_class/match/0',
    ],
    ['an unknown NF', chain((d) => Object.assign(d.nodes[1]!, { nf: 'teleporter' })), 'unknown-nf', '/nodes/1/nf'],
    ['an unknown host', chain((d) => (d.traffic_class.from = ['nobody'])), 'unknown-host', '/traffic_class/from/0'],
  ];

  it.each(cases)('%s: accepted in a draft only', async (_, definition, code, pointer) => {
    const check = await server.api.call('validateChain', { body: definition });
    expect(check.valid).toBe(false);
    expect(check.problems.map((problem) => problem.code)).toContain(code);
    const { id } = await server.api.call('createChain', { body: definition });
    const problem = await refusal('publishChain', { params: { id }, body: '{}' }, 422);
    expect(problem.errors!.map((error) => error.code)).toContain(code);
    expect(pointers(problem).some((each) => each.startsWith(pointer))).toBe(true);
    await refusal('createDeployment', { body: json({ chain_id: id }) }, 422);
    expect((await server.api.call('getChain', { params: { id } })).versions).toEqual([]);
    expect((await server.api.call('listOperations')).total).toBe(0);
    await server.api.call('deleteChain', { params: { id } });
  });
});

describe('addresses', () => {
  it('every route of the contract has a handler', async () => {
    const anonymous = server.api.as(null);
    for (const [name, route] of Object.entries(ROUTES)) {
      const { status } = await anonymous.request(name as RouteName, { query: { keys: 'x', name: 'x' } });
      expect(status, name).toBe(route.role === null ? 422 : 401);
    }
  });

  it('that do not exist: 404; wrong method: 405 with Allow', async () => {
    const missing = await fetch(`${server.running.url}${API_PREFIX}/unicorns`);
    expect([missing.status, missing.headers.get('content-type')]).toEqual([404, expect.stringMatching('problem')]);
    const wrong = await fetch(`${server.running.url}${API_PREFIX}/chains/x`, { method: 'POST' });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, PUT, DELETE']);
  });

  it('name what does not exist', async () => {
    for (const name of [
      'getChain',
      'getPlan',
      'getOperation',
      'getNfDescriptor',
      'getNfInstanceState',
      'getNfInstanceLog',
    ] as const)
      await refusal(name, { params: { id: 'nothing' } }, 404);
    await refusal('getNode', { params: { id: 'nothing' } }, 404);
    await refusal('getDeployment', { params: { chain_id: 'nothing' } }, 404);
    await refusal('deleteDeployment', { params: { chain_id: 'nothing' } }, 404);
  });

  it('with an invalid query: 400 names the field', async () => {
    expect(pointers(await refusal('listChains', { query: { limit: 0 } }, 400))).toEqual(['/limit']);
    expect(pointers(await refusal('listChains', { query: { sort: 'name' } }, 400))).toEqual(['/sort']);
    await refusal('listChains', { query: { nextpage_opaque_marker: 'nonsense' } }, 400);
    await refusal('listEvents', { query: { after: 'yesterday' } }, 400);
    await refusal('listEvents', { query: { after: '99999999999999999999-0' } }, 400);
    const last = '18446744073709551615-18446744073709551615';
    for (const after of [last, '9999999999999-0'])
      expect(pointers(await refusal('listEvents', { query: { after } }, 400))).toEqual(['/after']);
    // A bound of what is looked through, no place to resume at.
    const before = { after: last, order: 'newest-first' } as const;
    expect((await server.api.call('listEvents', { query: before })).items).toEqual([]);
    const { id } = (await server.api.call('listEvents', { query: { order: 'newest-first', limit: 1 } })).items[0]!;
    await server.api.call('listEvents', { query: { after: id } });
  });

  it('echo a request id, or generate one', async () => {
    const given = await server.api.request('getHealth', { headers: { 'x-request-id': 'my-request.1' } });
    expect(given.headers.get('x-request-id')).toBe('my-request.1');
    const made = await server.api.request('getHealth', { headers: { 'x-request-id': 'not allowed!' } });
    expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('chains', () => {
  it('are guarded by ETag against lost updates', async () => {
    const created = await server.api.request('createChain', { body: json(monitorChain('guarded')) });
    const { id } = created.body as { id: string };
    const etag = created.headers.get('etag')!;
    const save = (title: string, match: string) =>
      server.api.request('putChain', {
        params: { id },
        body: json({ ...monitorChain('guarded'), title }),
        headers: { 'if-match': match },
      });
    const first = await save('First', etag);
    expect(first.status).toBe(200);
    const second = await save('Second', etag);
    expect(second.status).toBe(412);
    expect((await server.api.call('getChain', { params: { id } })).draft.title).toBe('First');
    expect((await save('Third', first.headers.get('etag')!)).status).toBe(200);
    expect((await save('Fourth', '*')).status).toBe(200);
  });

  it('and whatever else PUT replaces cannot be overwritten unread', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('unread') });
    const web = { id: 'unread', kind: 'http-server', node: 'web-1', config: { port: 8081 } };
    await server.api.call('createApplication', { body: web });
    const shipped = await server.api.call('getNfDescriptor', { params: { id: 'nftables-firewall' } });
    const legacy = { ...shipped, id: 'unread-nf' };
    await server.api.call('createNfDescriptor', { body: legacy });
    const nf = { chain_id: id, node_id: 'monitor' };
    const scaling = await server.api.call('createScalingPolicy', { body: { nf } });
    const hook = { title: 'Pager', url: 'http://127.0.0.1:1/' };
    const webhook = await server.api.call('createWebhook', { body: hook });
    const puts = {
      putWebhook: { params: { id: webhook.id }, body: { ...hook, title: 'Other' } },
      putScalingPolicy: { params: { id: scaling.id }, body: { nf, max_instances: 9 } },
      putChain: { params: { id }, body: { ...monitorChain('unread'), title: 'Other' } },
      putInfrastructure: { body: { ...RACK, name: 'other' } },
      putApplication: { params: { id: web.id }, body: { ...web, config: { port: 8082 } } },
      putNfDescriptor: { params: { id: legacy.id }, body: { ...legacy, version: '1.0.1' } },
    } as const;
    // Those of boards need one: reconfiguration-preconditions.test.ts; a split: flow-splits.test.ts; P4 entries: p4-programs.test.ts;
    // lending groups: lending-groups.test.ts; the policy of healing: healing.test.ts; of upkeep: upkeep.test.ts.
    const ofBoards = ['putReconfigurationPolicy', 'reserveSlot'];
    const elsewhere = [
      ...ofBoards,
      'putSplit',
      'putP4Entries',
      'putLendingGroup',
      'putHealingPolicy',
      'putUpkeepPolicy',
    ];
    const all = Object.entries<RouteDefinition>(ROUTES).filter(([, { method }]) => method === 'PUT');
    expect([...Object.keys(puts), ...elsewhere].sort()).toEqual(all.map(([name]) => name).sort());
    for (const [name, options] of Object.entries(puts)) {
      const request = { ...options, body: json(options.body), withoutIfMatch: true };
      const answer = await server.api.request(name as keyof typeof puts, request);
      expect([name, answer.status, (answer.body as Problem).errors?.[0]]).toEqual([
        name,
        428,
        expect.objectContaining({ header: 'If-Match', code: 'precondition-required' }),
      ]);
    }
    expect((await server.api.call('getChain', { params: { id } })).revision).toBe(1);
    expect((await server.api.call('getInfrastructure')).name).toBe(RACK.name);
    await server.api.call('deleteApplication', { params: { id: web.id } });
    await server.api.call('deleteNfDescriptor', { params: { id: legacy.id } });
    await server.api.call('deleteScalingPolicy', { params: { id: scaling.id } });
  });

  it('have immutable versions', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('versioned') });
    const one = await server.api.call('publishChain', { params: { id }, body: { note: 'first' } });
    await server.api.call('putChain', { params: { id }, body: { ...monitorChain('versioned'), title: 'Changed' } });
    expect(await server.api.call('getChain', { params: { id } })).toMatchObject({
      draft_differs: true,
      revision: 2,
    });
    await server.api.call('publishChain', { params: { id }, body: {} });
    const again = await refusal('publishChain', { params: { id }, body: '{}' }, 409);
    expect(again.detail).toBe('Version 2 is already equal to the draft.');
    expect(await server.api.call('getChainVersion', { params: { id, version: 1 } })).toEqual(one);
    const versions = await server.api.call('listChainVersions', { params: { id } });
    expect(versions.items.map(({ version }) => version)).toEqual([2, 1]);
    await refusal('getChainVersion', { params: { id, version: 3 } }, 404);
  });

  it('have unique names', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('taken') });
    expect(pointers(await refusal('createChain', { body: json(monitorChain('taken')) }, 409))).toEqual(['/name']);
    await server.api.call('deleteChain', { params: { id } });
    await server.api.call('createChain', { body: monitorChain('taken') });
  });

  it('are created once per Idempotency-Key', async () => {
    const create = (name: string) =>
      server.api.request('createChain', {
        body: json(monitorChain(name)),
        headers: { 'idempotency-key': 'key-1' },
      });
    const first = await create('once');
    const again = await create('once');
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect((await create('twice')).status).toBe(422);
    expect((await server.api.call('listChains', { query: { name: 'once' } })).total).toBe(1);
  });

  it('release the Idempotency-Key when they are refused', async () => {
    const create = (name: string) =>
      server.api.request('createChain', {
        body: json(monitorChain(name)),
        headers: { 'idempotency-key': 'key-2' },
      });
    expect((await create('once')).status).toBe(409);
    expect((await create('not-refused')).status).toBe(201);
  });

  it('are not repeated under an Idempotency-Key whose outcome is unknown', async () => {
    const { store } = server.running;
    const transact = store.transact.bind(store);
    store.transact = async (fill) => {
      store.transact = transact;
      await transact(fill);
      throw unavailable('The answer was lost.');
    };
    const create = { body: json(monitorChain('unknown')), headers: { 'idempotency-key': 'key-3' } };
    await refusal('createChain', create, 503);
    const problem = await refusal('createChain', create, 409);
    expect(problem.detail).toMatch(/is unknown; read the resource/);
    expect((await server.api.call('listChains', { query: { name: 'unknown' } })).total).toBe(1);
  });

  it('are answered even if the answer cannot be stored, and not repeated', async () => {
    const { redis } = server.running.store;
    const run = redis.eval.bind(redis) as (...args: unknown[]) => Promise<unknown>;
    const kept = vi.spyOn(redis, 'eval').mockImplementation((async (...args: unknown[]) => {
      if (args.some((arg) => String(arg).includes('"answer":{'))) throw new Error('Connection is closed.');
      return run(...args);
    }) as typeof redis.eval);
    const create = { body: json(monitorChain('not-kept')), headers: { 'idempotency-key': 'key-4' } };
    expect((await server.api.request('createChain', create)).status).toBe(201);
    kept.mockRestore();
    await refusal('createChain', create, 409);
    expect((await server.api.call('listChains', { query: { name: 'not-kept' } })).total).toBe(1);
  });

  it('are listed page by page, each exactly once', async () => {
    for (let index = 0; index < 5; index++)
      await server.api.call('createChain', { body: monitorChain(`page-${index}`) });
    const seen: string[] = [];
    let url: string | null = `${API_PREFIX}/chains?limit=2`;
    while (url) {
      const response: Response = await fetch(new URL(url, server.running.url), {
        headers: { authorization: `Bearer ${server.api.token}` },
      });
      const page = (await response.json()) as { items: { id: string }[]; total: number };
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map(({ id }) => id));
      url = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? null;
    }
    const all = await server.api.call('listChains', { query: { limit: 1000 } });
    expect(seen).toEqual(all.items.map(({ id }) => id));
  });
});

describe('without a twin', () => {
  it('plans, and says why it cannot deploy', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('planned') });
    const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id: id }] } });
    expect(plan.feasible).toBe(true);
    expect(await server.api.call('getPlan', { params: { id: plan.id } })).toEqual(plan);
    const problem = await refusal('createDeployment', { body: json({ plan_id: plan.id }) }, 409);
    expect(problem.detail).toMatch('ORRERY_TWIN=off');
    expect((await server.api.call('listDeployments')).total).toBe(0);
  });

  it('keeps the 200 most recently read plans and all deployed ones', async () => {
    const { redis } = server.running.store;
    const { id } = await server.api.call('createChain', { body: monitorChain('previewed') });
    const body = { chains: [{ chain_id: id }] };
    const make = async () => (await server.api.call('createPlan', { body })).id;
    const [forgotten, deployed, read] = [await make(), await make(), await make()];
    // As a deployment does.
    await redis.persist(KEYS.plan(deployed));
    for (let index = 0; index < 200; index++) {
      await make();
      if (index === 100) await server.api.call('getPlan', { params: { id: read } });
    }
    await refusal('getPlan', { params: { id: forgotten } }, 404);
    for (const kept of [deployed, read]) await server.api.call('getPlan', { params: { id: kept } });
    const previews = async () => (await redis.zrangebyscore(KEYS.planPreviews, '-inf', '+inf')).sort();
    const stored = async () => (await redis.keys(KEYS.plan('*'))).sort();
    expect(await previews()).toHaveLength(200);
    // Apart from those that the server made itself.
    const own = await redis.zrangebyscore(KEYS.planOwn, '-inf', '+inf');
    expect(await stored()).toEqual([...own, ...(await previews()), KEYS.plan(deployed)].sort());
    // Of these, as many as are 128 MiB together.
    await redis.setrange(KEYS.plan(await make()), 128 * 1024 * 1024, '}');
    const last = await make();
    expect(await stored()).toEqual([...own, KEYS.plan(deployed), KEYS.plan(last)].sort());
  });

  it('refuses a schedule that no engine can carry out, and keeps how a chain is to run', async () => {
    const { id } = await server.api.call('createChain', { body: monitorChain('scheduled') });
    const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id: id, schedule: 'planned' }] } });
    expect(plan).toMatchObject({ feasible: false, chains: [{ chain_id: id, schedule: 'planned' }] });
    expect(plan.conflicts.every(({ constraint, unit }) => `${constraint} ${unit}` === 'engine-ability scheduler')).toBe(
      true,
    );
    expect(plan.conflicts.length).toBeGreaterThan(0);
    const inTurn = { chains: [{ chain_id: id, schedule: 'round-robin' as const }] };
    expect(await server.api.call('createPlan', { body: inTurn })).toMatchObject({
      feasible: true,
      chains: inTurn.chains,
    });
    const body = { chains: [{ chain_id: id, schedule: 'fastest' }] };
    const problem = await refusal('createPlan', { body: json(body) }, 422);
    expect(pointers(problem)[0]).toBe('/chains/0/schedule');
  });

  it('does not store a preview, but stores the same plan once it is requested', async () => {
    const { redis } = server.running.store;
    const { id } = await server.api.call('createChain', { body: monitorChain('compared') });
    const body = { chains: [{ chain_id: id }] };
    const mine = await server.api.call('createPlan', { body });
    const kept = await redis.keys(KEYS.plan('*'));
    for (let seed = 2; seed < 10; seed++) {
      const other = await server.api.call('previewPlan', { body: { ...body, seed } });
      expect(other).toMatchObject({ feasible: true, seed });
      await refusal('getPlan', { params: { id: other.id } }, 404);
    }
    expect(await redis.keys(KEYS.plan('*'))).toEqual(kept);
    const { id: seen } = await server.api.call('previewPlan', { body: { ...body, seed: 9 } });
    const chosen = await server.api.call('createPlan', { body: { ...body, seed: 9 } });
    expect(chosen.id).toBe(seen);
    for (const plan of [mine, chosen]) await server.api.call('getPlan', { params: { id: plan.id } });
  });

  it('refuses an infeasible plan and names the missing resource', async () => {
    const greedy = monitorChain('greedy');
    greedy.traffic_class.rate_bps = 1e13;
    const { id } = await server.api.call('createChain', { body: greedy });
    const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id: id }] } });
    expect(plan.feasible).toBe(false);
    expect((await refusal('createDeployment', { body: json({ plan_id: plan.id }) }, 422)).detail).toMatch(
      'not feasible',
    );
  });
});

describe('pages', () => {
  it('serve the API descriptions and their viewer without a session', async () => {
    for (const name of ['openapi.json', 'asyncapi.json', 'schema.json'])
      expect((await fetch(`${server.running.url}${API_PREFIX}/${name}`)).status).toBe(200);
    const docs = await fetch(`${server.running.url}/api/docs`);
    expect(docs.headers.get('content-security-policy')).toMatch("default-src 'self'");
    for (const [, asset] of (await docs.text()).matchAll(/(?:src|href)="([^"]+)"/g))
      expect((await fetch(`${server.running.url}${asset}`)).status, asset).toBe(200);
  });

  it('serve health checks and Prometheus', async () => {
    expect((await fetch(`${server.running.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${server.running.url}/metrics`)).status).toBe(401);
    const metrics = await server.metrics();
    expect(metrics).toMatch(/orrery_http_request_seconds_count\{route="listChains",status="200"\} [1-9]/);
    const health = await server.api.call('getHealth');
    expect(health.parts.map(({ name }) => name).sort()).toEqual([
      'agents',
      'boards',
      'catalogue',
      'p4-programs',
      'redis',
      'servers',
      'state',
      'switches',
      'twin',
    ]);
    const capabilities = await server.api.call('listCapabilities');
    expect(capabilities.items.find(({ id }) => id === 'twin')).toMatchObject({ available: false });
  });
});

it('looks for what charts mark among the latest events, of chosen parts, and goes on with the next page', async () => {
  const { redis } = server.running.store;
  const add = async (bodies: readonly string[]) => {
    const pipeline = redis.pipeline();
    for (const body of bodies) pipeline.xadd(KEYS.events, '*', 'e', body, 'n', 'test');
    await pipeline.exec();
  };
  const givenUp = (subject: string) => entryOf({ type: 'healing.given-up', subject, message: '', data: {} }).body;
  const lost = entryOf({ type: 'twin.lost', subject: 'twin', message: '', data: {} }).body;
  await add([givenUp('ch-a'), givenUp('ch-b'), lost]);
  const query = { marked: 'true', order: 'newest-first', about: 'ch-a,ch-c', limit: 2 } as const;
  const { items } = await server.api.call('listEvents', { query });
  expect(items.map(({ subject }) => subject)).toEqual(['twin', 'ch-a']);

  const unmarked = json({ type: 'loop.decided', severity: 'info' });
  for (let thousands = 0; thousands < 20; thousands++) await add(Array(1000).fill(unmarked));
  const answer = await server.api.request('listEvents', { query });
  const looked = answer.body as { items: unknown[]; begins_ms: number };
  expect(looked).toMatchObject({ items: [], begins_ms: expect.any(Number) });
  expect(looked.begins_ms).toBeGreaterThanOrEqual(Number(items[0]!.id.split('-')[0]));
  const next = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
  const { searchParams } = new URL(next!, server.running.url);
  const marker = { nextpage_opaque_marker: searchParams.get('nextpage_opaque_marker')! };
  expect((await server.api.call('listEvents', { query: { ...query, ...marker } })).items).toEqual(items);
});
