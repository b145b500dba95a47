import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AgentMessage, type ApplicationDefinition, sampleKey } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp();
});
afterEach(() => server.stop());

const WEB = { id: 'web', kind: 'http-server', node: 'web-1', enabled: true, config: { port: 80 } } as const;
const PROBE = { id: 'probe', kind: 'probe', node: 'client-1', config: { to: 'web-1' } } as const;
const told = () => server.scratch.toldTwin('PUT /applications');
const newest = () => told().at(-1)?.body;
const post = (body: object) => server.api.request('createApplication', { body: JSON.stringify(body) });
const put = (body: { id: string } & Record<string, unknown>, ifMatch?: string) =>
  server.api.request('putApplication', {
    params: { id: body.id },
    body: JSON.stringify(body),
    headers: ifMatch ? { 'if-match': ifMatch } : {},
  });
const state = async (id: string) => (await server.api.call('getApplication', { params: { id } })).status.state;

describe('applications', () => {
  it('are sent to the twin with defaults and addresses, and report their state with units', async () => {
    await post(WEB);
    await post(PROBE);
    const spec = await until('both at the twin', () => (newest()?.applications.length === 2 ? newest() : null));
    const web1 = RACK.hosts.find(({ id }) => id === 'web-1')!.addresses[0]!.address;
    expect(spec!.applications.map(({ definition, address }) => [definition.id, address])).toEqual([
      ['probe', web1],
      ['web', null],
    ]);
    expect(spec!.applications[0]!.definition.config).toMatchObject({ port: 9000, rate_per_s: 50 });
    await until('it runs', async () => (await state('probe')) === 'running');
    const { status } = await server.api.call('getApplication', { params: { id: 'probe' } });
    expect(status.metrics.find(({ name }) => name === 'sent')).toMatchObject({ unit: 'count', value: 5 });
    expect(status.metrics.find(({ name }) => name === 'latency_p50_us')).toMatchObject({ unit: 'us', value: null });
  });

  it('change only if the revision matches; an equal definition changes nothing', async () => {
    const created = await post(WEB);
    const etag = created.headers.get('etag')!;
    const same = await put(WEB, etag);
    expect(same.headers.get('etag')).toBe(etag);
    await until('at the twin', () => newest()?.applications.length === 1);
    const { revision } = newest()!.applications[0]!;
    expect((await put({ ...WEB, config: { port: 81 } }, '"9"')).status).toBe(412);
    const changed = await put({ ...WEB, enabled: false }, etag);
    expect(changed.status).toBe(200);
    await until('stopped', async () => (await state('web')) === 'stopped');
    expect(newest()!.applications[0]!.revision).toBeGreaterThan(revision);
    expect((await put(WEB, etag)).status).toBe(412);
    expect((await server.api.request('deleteApplication', { params: { id: 'web' } })).status).toBe(204);
    await until('gone', () => newest()?.applications.length === 0);
  });

  it.each([
    ['an unknown node', { ...WEB, id: 'other', node: 'web-9' }, 422, '/node'],
    ['a kind that cannot run there', { ...PROBE, node: 'server-1' }, 422, '/node'],
    ['an unknown destination', { ...PROBE, config: { to: 'web-9' } }, 422, '/config/to'],
    ['itself as destination', { ...PROBE, config: { to: 'client-1' } }, 422, '/config/to'],
    [
      'an address family that the node lacks',
      { ...PROBE, config: { to: 'web-1', family: 'ipv6' } },
      422,
      '/config/family',
    ],
    ['a field of another kind', { ...WEB, config: { to: 'web-1' } }, 422, '/config/to'],
    ['a rate beyond the bound', { ...PROBE, config: { to: 'web-1', rate_per_s: 1e9 } }, 422, '/config/rate_per_s'],
    ['a port in use', { ...WEB, id: 'other', kind: 'iperf3-server' }, 409, '/config/port'],
    ['an id in use', WEB, 409, '/id'],
  ])('refuse %s', async (_, body, status, pointer) => {
    await post(WEB);
    const answer = await post(body);
    expect([answer.status, (answer.body as { errors: { pointer: string }[] }).errors.map((e) => e.pointer)]).toEqual([
      status,
      [pointer],
    ]);
    expect((await server.api.call('listApplications')).items.map(({ id }) => id)).toEqual(['web']);
  });

  it('may reuse the port of a stopped application, but not run at the same time', async () => {
    await post(WEB);
    await put({ ...WEB, enabled: false } as unknown as typeof WEB);
    expect((await post({ ...WEB, id: 'second' })).status).toBe(201);
    expect((await put(WEB)).status).toBe(409);
  });

  it('require the role operator', async () => {
    const viewer = await server.session('viewer');
    const answer = await viewer.request('createApplication', { body: JSON.stringify(WEB) });
    expect(answer.status).toBe(403);
    expect((await viewer.call('listApplicationKinds')).items.map(({ id }) => id)).toContain('http-server');
  });

  it('list the schema of each kind with the units of its numbers', async () => {
    const { items } = await server.api.call('listApplicationKinds');
    const client = items.find(({ id }) => id === 'http-client')!;
    expect(client.config_schema).toMatchObject({
      required: ['to'],
      properties: { rate_per_s: { title: 'Rate', unit: 'requests/s', maximum: 2000, default: 10 } },
    });
  });

  it('restart on request, under a new revision', async () => {
    await post(PROBE);
    const before = await until('at the twin', () => newest()?.applications[0]?.revision ?? null);
    await server.api.call('restartApplication', { params: { id: 'probe' } });
    await until('another run', () => newest()!.applications[0]!.revision > before!);
    const { items } = await server.api.call('listEvents', { query: { subject: 'probe' } });
    expect(items.map(({ type }) => type)).toEqual(['application.declared', 'application.restarted']);
  });

  it('are sent to a new twind with their previous revisions, and are unknown until then', async () => {
    await post(WEB);
    const before = await until('at the twin', () => (newest()?.applications.length ? newest()!.applications : null));
    const pid = Number(readFileSync(join(server.scratch.runDir, 'twin.pid'), 'utf8'));
    process.kill(pid, 'SIGKILL');
    await until('unknown', async () => (await state('web')) === 'unknown');
    await until('at another twin', () => told().some((entry) => entry.pid !== pid));
    expect(newest()!.applications).toEqual(before);
    await until('it runs', async () => (await state('web')) === 'running');
  });

  it('on a server are sent to its agent whenever it connects', async () => {
    const definition: ApplicationDefinition = { ...WEB, node: 'server-1', config: { port: 8080 } };
    const agent = server.agents.get('server-1')!;
    await post(definition);
    const spec = await until('at the agent', () =>
      agent.applications?.applications.length ? agent.applications : null,
    );
    expect(spec!.applications.map((each) => each.definition)).toEqual([definition]);
    expect(newest()?.applications ?? []).toEqual([]);
    expect(await state('web')).toBe('starting');
    await agent.kill();
    agent.applications = null;
    await until('unknown', async () => (await state('web')) === 'unknown');
    await agent.connect();
    await until('told again', () => agent.applications !== null);
    expect(agent.applications).toEqual(spec);
    await server.api.call('deleteApplication', { params: { id: 'web' } });
    await until('nothing to run', () => agent.applications?.applications.length === 0);
  });

  it('survive a server restart', async () => {
    await post(WEB);
    const { scratch } = server;
    await server.pause();
    server = await TestServer.start({ twin: true }, scratch);
    expect((await server.api.call('listApplications')).items.map(({ definition }) => definition)).toEqual([WEB]);
    await until('it runs', async () => (await state('web')) === 'running');
  });

  it.each([
    ['runs on a removed host', { ...WEB }, 'web-1', '/hosts'],
    ['sends to a removed host', { ...PROBE }, 'web-1', '/hosts'],
    ['runs on a removed server', { ...WEB, node: 'server-3', config: { port: 8080 } }, 'server-3', '/servers'],
  ])(
    'block a change of the infrastructure: one that %s is named, and nothing changes',
    async (_, body, node, pointer) => {
      await post(body);
      const stays = ({ id }: { id: string }) => id !== node;
      const smaller = {
        ...RACK,
        servers: RACK.servers.filter(stays),
        hosts: RACK.hosts.filter(stays),
        links: RACK.links.filter(({ a }) => a.node !== node),
      };
      const answer = await server.api.request('putInfrastructure', { body: JSON.stringify(smaller) });
      expect(answer.status).toBe(422);
      const detail = `application "${body.id}" would not run: there is no host or server "${node}"`;
      expect(answer.body).toMatchObject({ errors: [{ pointer, detail, code: 'in-use' }] });
      expect(await server.api.call('getInfrastructure')).toEqual(RACK);
      await server.api.call('deleteApplication', { params: { id: body.id } });
      await server.api.call('putInfrastructure', { body: smaller });
    },
  );

  it('are sampled', async () => {
    const { status } = await post({ id: 'sink', kind: 'http-server', node: 'server-1', config: { port: 8000 } });
    expect(status).toBe(201);
    const agent = server.agents.get('server-1')!;
    await until('its agent is told', () => agent.applications?.applications.length === 1);
    const metrics = (received: number) => ({
      generation: 1,
      applications: [
        {
          id: 'sink',
          revision: 1,
          state: 'running',
          since_ms: 0,
          detail: null,
          restarts: 0,
          pid: 1,
          metrics: { received },
        },
      ],
    });
    agent.send({ type: 'applications', observed: metrics(10) } as AgentMessage);
    agent.send({ type: 'applications', observed: metrics(20) } as AgentMessage);
    const key = sampleKey('application', 'sink', 'received_per_s');
    const [series] = await until('a series', async () => {
      const { items } = await server.api.call('listSamples', { query: { keys: key } });
      return items.length > 0 ? items : null;
    });
    expect(series).toMatchObject({ key, unit: 'per_s' });
  });

  it('follow a destination whose address changes', async () => {
    await post(PROBE);
    const hosts = RACK.hosts.map((host) =>
      host.id === 'web-1' ? { ...host, addresses: [{ address: '10.0.9.9' }] } : host,
    );
    await server.api.call('putInfrastructure', { body: { ...RACK, hosts } });
    await until('its new address', () => newest()?.applications[0]?.address === '10.0.9.9');
  });
});
