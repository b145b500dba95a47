import { AgentEventType, type AgentMessage, EVENTS, type Event } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../../testing/fake-agent.js';
import { RACK } from '../../testing/fixtures.js';
import { TestServer } from '../../testing/server.js';
import { until } from '../../testing/wait.js';
import { REPORT_BYTES } from './agent-limits.js';

const LIVE = structuredClone(RACK);
for (const node of [...LIVE.servers, ...LIVE.switches]) node.origin = 'live';

let server: TestServer;
let agent: FakeAgent;
beforeEach(async () => {
  server = await TestServer.start({ env: { ORRERY_AGENT_STALE_MS: '60000' } });
  await server.api.call('putInfrastructure', { body: LIVE });
  agent = await joined('server-1');
});
afterEach(() => server.stop());

const tokenOf = async (node: string) => (await server.api.call('createJoinToken', { body: { node } })).token;
async function joined(node: string): Promise<FakeAgent> {
  const joining = new FakeAgent(server.running.url, node, await tokenOf(node));
  server.agents.set(node, joining);
  await joining.connect();
  return joining;
}
const events = async (): Promise<Event[]> =>
  (await server.api.call('listEvents', { query: { order: 'newest-first', limit: 1000 } })).items;
const report = (event: string, subject: string, data = {}, message = 'm'): AgentMessage => ({
  type: 'event',
  event,
  subject,
  message,
  t_ms: Date.now(),
  data,
});
/** Everything that the agent sent before was taken once this arrives. */
const MARK = 'everything before this was taken';
async function taken(): Promise<Event[]> {
  agent.send(report('port.up', 'server-1', { port: 'nic0' }, MARK));
  return until('the mark', async () => {
    const all = await events();
    return all.some(({ message }) => message === MARK) && all;
  });
}

describe('an agent', () => {
  it('speaks for itself only, whatever the type of event', async () => {
    // Fewer than the burst of events that an agent may send: types that are not for agents take turns with the subjects.
    const foreign = ['server-2', 'board-1', 'some.chain.0'];
    const ofAgents = new Set<string>(AgentEventType.options);
    for (const [index, [type, { about }]] of Object.entries(EVENTS).entries())
      for (const subject of ofAgents.has(type) ? foreign : [foreign[index % foreign.length]!])
        agent.send(report(type, subject, { board: subject, port: 'x', pid: 1, ms: 1, how: 'x', drift: [], about }));
    const all = await taken();
    const forged = all.filter(({ actor, subject }) => actor === 'agent server-1' && subject !== 'server-1');
    expect(forged).toEqual([]);
    expect(new Set(all.filter(({ actor }) => actor === 'agent server-1').map(({ type }) => type))).toEqual(
      new Set(['node.event', 'port.up']),
    );
  });

  it('cannot hide what it reports behind invisible characters', async () => {
    agent.send(report('port.up', 'server-1', { port: 'x' }, 'a\u202eb\u001b[2Kc\u0085d'));
    const told = (await taken()).find(({ type, message }) => type === 'port.up' && message !== MARK)!;
    expect(told.message).toBe('a b [2Kc d');
  });

  it.each([
    ['a message of 5 MB', () => report('port.up', 'server-1', { port: 'x' }, 'x'.repeat(5_000_000))],
    ['a long message', () => report('port.up', 'server-1', { port: 'x' }, 'x'.repeat(5000))],
    ['large data', () => report('port.up', 'server-1', { port: 'x'.repeat(1_000_000) })],
    [
      'many unknown keys',
      () => report('port.up', 'server-1', Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`k${n}`, n]))),
    ],
  ])('does not fill the store: %s', async (_, make) => {
    const before = await memoryBytes();
    for (let n = 0; n < 5; n++) agent.send(make());
    const all = await taken();
    for (const event of all) expect(JSON.stringify(event).length).toBeLessThan(10_000);
    expect((await memoryBytes()) - before).toBeLessThan(1_000_000);
  });

  it('may send a burst of events, and then some; the rest is counted, and told though it says nothing more', async () => {
    const floods = 2000;
    for (let n = 0; n < floods; n++) agent.send(report('port.up', 'server-1', { port: 'x' }, `flood ${n}`));
    const { passed, dropped } = await until('all are told', async () => {
      const all = await events();
      const told = all.map(({ type, data }) => (type === 'agent.events-dropped' ? data.dropped : 0));
      const counts = {
        passed: all.filter(({ message }) => message.startsWith('flood')).length,
        dropped: told.reduce((sum, each) => sum + each, 0),
      };
      return counts.passed + counts.dropped === floods && counts;
    });
    expect(passed).toBeLessThan(900);
    const metrics = await server.metrics();
    expect(metrics).toContain(`orrery_agent_events_dropped_total ${dropped}\n`);
  });

  it('is disconnected after ten invalid messages, and told why', async () => {
    for (let n = 0; n < 10; n++) agent.send({ type: 'nonsense' } as unknown as AgentMessage);
    await until('it is refused', () => agent.refused !== null);
    expect(agent.refused).toMatch('10 invalid messages');
    const all = await events();
    expect(all.filter(({ type }) => type === 'node.protocol-error')).toHaveLength(1);
  });

  it('sends nothing large that no call asked for', async () => {
    const padded = { ...report('port.up', 'server-1', { port: 'x' }), pad: 'x'.repeat(REPORT_BYTES) };
    for (let n = 0; n < 10; n++) agent.send(padded as unknown as AgentMessage);
    await until('it is refused', () => agent.refused !== null);
    expect(agent.refused).toMatch('nobody asked for');
  });

  it('samples its own parts only', async () => {
    const instance = {
      packets_in: 1,
      packets_out: 1,
      bytes_in: 1,
      bytes_out: 1,
      drops: {},
      queue_depth: 0,
      cpu_share: 0,
      latency_ns: [],
    };
    const counts = { packets: 1, bytes: 1, latency_ns: [] };
    const module = { packets_in: 1, packets_out: 1, drops: {}, waiting: 0, cpu_share: 0 };
    const used = { cpu_share: 1, pps: 1, bps: 1, polling_share: 0 };
    for (const seq of [0, 1])
      agent.send({
        type: 'samples',
        samples: {
          epoch: 'e',
          seq,
          t_ms: Date.now(),
          clock_ms: performance.now(),
          interval_ms: 200,
          lost: 0,
          cpu_share: 0,
          instances: Array.from({ length: 500 }, (_, n) => ({ ...instance, instance_id: `other.nf.${n}` })),
          exits: [{ ...counts, exit_id: 'other.exit' }],
          modules: [{ ...module, module_id: 'other.nf.merge' }],
          splits: [],
          schedulers: [{ core: 0, nodes: [{ ...used, id: 'other.root' }] }],
          boards: [],
        },
      });
    await taken();
    const keys = 'instance/,nf/,chain/,module/,scheduler/';
    const { items } = await server.api.call('listSamples', { query: { keys } });
    expect(items).toEqual([]);
  });
});

describe('a node', () => {
  it('that the infrastructure does not have gets no token', async () => {
    const { status, body } = await server.api.request('createJoinToken', { body: '{"node":"elsewhere"}' });
    expect([status, body]).toMatchObject([422, { errors: [{ pointer: '/node' }] }]);
  });

  it('that was removed is disconnected and refused', async () => {
    const removed = await joined('server-3');
    const without = structuredClone(LIVE);
    without.servers = without.servers.filter(({ id }) => id !== 'server-3');
    const gone = (end: string) => end.startsWith('server-3');
    without.links = without.links.filter(({ a, b }) => !gone(a.node) && !gone(b.node));
    await server.api.call('putInfrastructure', { body: without });
    await until('it is told', () => removed.refused !== null);
    expect(removed.refused).toMatch('removed from the infrastructure');
    await removed.connect();
    expect(removed.refused).toBe('server-3 is not in the infrastructure');
    expect(await server.api.call('getNode', { params: { id: 'server-3' } }).catch(() => null)).toBeNull();
  });

  it('whose credential was revoked is disconnected, and joins with a new credential and a new token only', async () => {
    await server.api.call('revokeCredential', { params: { id: 'server-1' } });
    await until('it is told', () => agent.refused !== null);
    await agent.connect();
    expect(agent.refused).toMatch('was revoked');
    const again = new FakeAgent(server.running.url, 'server-1', await tokenOf('server-1'));
    server.agents.set('again', again);
    const fresh = again.credential;
    again.credential = agent.credential;
    await again.connect();
    expect(again.refused).toMatch('was revoked');
    again.credential = fresh;
    await again.connect();
    expect(again.refused).toBeNull();
    expect((await server.api.request('revokeCredential', { params: { id: 'server-2' } })).status).toBe(404);
  });

  it('leaves a trace of what concerns its credentials, and of refusals a bounded one', async () => {
    for (let n = 0; n < 5; n++) {
      const stranger = new FakeAgent(server.running.url, 'server-2', 'no token');
      server.agents.set('stranger', stranger);
      await stranger.connect();
      await stranger.kill();
    }
    await server.api.call('revokeCredential', { params: { id: 'server-1' } });
    const all = await events();
    const count = (type: string) => all.filter((event) => event.type === type).length;
    expect([count('node.join-token-created'), count('node.joined')]).toEqual([1, 1]);
    expect(all.find(({ type }) => type === 'node.credential-revoked')).toMatchObject({
      subject: 'server-1',
      actor: 'admin',
    });
    expect(count('node.refused')).toBe(1);
  });
});

it('sign-ins and wrong secrets leave a trace, the latter a bounded one', async () => {
  for (let n = 0; n < 9; n++) await server.api.as(null).request('createSession', { body: '{"secret":"wrong"}' });
  const all = await events();
  expect(all.filter(({ type }) => type === 'session.refused')).toHaveLength(1);
  expect(all.find(({ type }) => type === 'session.opened')).toMatchObject({
    subject: 'admin',
    data: { role: 'admin' },
  });
  await server.api.call('deleteSession');
  const again = await server.session('viewer');
  const { items } = await again.call('listEvents', { query: { type: 'session.closed' } });
  expect(items).toMatchObject([{ actor: 'admin' }]);
});

async function memoryBytes(): Promise<number> {
  const info = await server.running.store.redis.info('memory');
  return Number(/^used_memory_dataset:(\d+)/m.exec(info)![1]);
}
