import { AGENT_PROTOCOL, type Infrastructure } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { sha256 } from '../../platform/ids.js';
import { KEYS } from '../../platform/redis-keys.js';
import { FakeAgent } from '../../testing/fake-agent.js';
import { RACK } from '../../testing/fixtures.js';
import { TestServer } from '../../testing/server.js';
import { until } from '../../testing/wait.js';
import { REPLY_BYTES } from './agent-limits.js';

const STALE_MS = 400;

let server: TestServer;
let agent: FakeAgent;
beforeEach(async () => {
  server = await TestServer.start({ env: { ORRERY_AGENT_STALE_MS: String(STALE_MS) } });
  await server.api.call('putInfrastructure', { body: RACK });
  const { token } = await server.api.call('createJoinToken', { body: { node: 'server-1' } });
  agent = new FakeAgent(server.running.url, 'server-1', token);
  server.agents.set('server-1', agent);
  await agent.connect();
});
afterEach(() => server.stop());

async function told(): Promise<string[]> {
  const { items } = await server.api.call('listEvents', { query: { subject: 'server-1', limit: 1000 } });
  return items.map(({ type }) => type).filter((type) => /^node\.(dis)?connected$/.test(type));
}

function without(node: string): Infrastructure {
  const links = RACK.links.filter(({ a, b }) => ![a.node, b.node].includes(node));
  const boards = RACK.boards.filter(({ server }) => server !== node);
  return { ...RACK, servers: RACK.servers.filter(({ id }) => id !== node), links, boards };
}

/** Blocks this process, both server and agent. */
function stall(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('agents do not count as silent while the server itself is stalled, however often that happens', async () => {
  for (let n = 0; n < 4; n++) {
    stall(STALE_MS + 50);
    // One turn of the event loop, in which timers run before received data.
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  const since = Date.now();
  await until('it would be missed', () => Date.now() - since > 2 * STALE_MS);
  expect(await told()).toEqual(['node.connected']);
});

it('an agent does not count as silent while the server slows it down', async () => {
  // Half of it is beyond the burst that an agent may send, and takes the server seconds.
  for (let n = 0; n < 4; n++) agent.raw('x'.repeat(REPLY_BYTES - 1));
  agent.report({ ...agent.observed, engine: 'failed' });
  const engine = async () => (await server.api.call('getNode', { params: { id: 'server-1' } })).engine;
  await until('it has read everything', async () => (await engine()) === 'failed' || (await told()).length > 1);
  expect(await server.metrics()).toMatch(/^orrery_agents_slowed_total [1-9]/m);
  expect(await told()).toEqual(['node.connected']);
});

it('an agent does not count as silent while a message of it arrives that takes long', async () => {
  const sinceMs = performance.now();
  while (performance.now() - sinceMs < 4 * STALE_MS) {
    agent.part(' ');
    await new Promise((resolve) => setTimeout(resolve, STALE_MS / 8));
  }
  expect(await told()).toEqual(['node.connected']);
  await agent.kill();
  await until('it is missed', async () => (await told()).includes('node.disconnected'));
});

it('an agent that disappears while the server slows it down is noticed', async () => {
  for (let n = 0; n < 3; n++) agent.raw('x'.repeat(REPLY_BYTES - 1));
  await until('it is slowed down', async () => /^orrery_agents_slowed_total [1-9]/m.test(await server.metrics()));
  await agent.kill();
  await until('it is missed', async () => (await told()).includes('node.disconnected'));
});

it('a node that is removed while its agent is being admitted is refused', async () => {
  const { token } = await server.api.call('createJoinToken', { body: { node: 'server-2' } });
  const joining = new FakeAgent(server.running.url, 'server-2', token);
  server.agents.set('server-2', joining);
  const { store } = server.running;
  const json = store.json.bind(store);
  store.json = async <T>(key: string) => {
    if (key === KEYS.joinToken(sha256(token)))
      await server.api.call('putInfrastructure', { body: without('server-2'), headers: { 'if-match': '*' } });
    return json<T>(key);
  };
  await joining.connect();
  await until('the refusal', () => joining.refused);
  expect(joining.refused).toBe('server-2 is not in the infrastructure');
  expect((await server.api.call('listNodes')).items.map(({ id }) => id)).not.toContain('server-2');
});

it('an agent that disappears after a stall is noticed', async () => {
  stall(STALE_MS + 50);
  await agent.kill();
  await until('it is missed', async () => (await told()).includes('node.disconnected'));
});

it('an agent that disappears is noticed although the clock was set back by an hour', async () => {
  const wall = Date.now.bind(Date);
  vi.spyOn(Date, 'now').mockImplementation(() => wall() - 3_600_000);
  onTestFinished(() => void vi.restoreAllMocks());
  await agent.kill();
  await until('it is missed', async () => (await told()).includes('node.disconnected'));
});

it('what an agent told over an earlier connection is not current until it reports again', async () => {
  const engine = async () => (await server.api.call('getNode', { params: { id: 'server-1' } })).engine;
  agent.report({ ...agent.observed, engine: 'running' });
  await until('the report', async () => (await engine()) === 'running');
  await agent.kill();
  agent.tellsInHello = false;
  await agent.connect();
  expect(await engine()).toBe('unknown');
  agent.report({ ...agent.observed, engine: 'failed' });
  await until('the next report', async () => (await engine()) === 'failed');
});

it('an agent of another protocol version is refused with both versions, whatever else its hello contains', async () => {
  const { token } = await server.api.call('createJoinToken', { body: { node: 'server-2' } });
  const other = new FakeAgent(server.running.url, 'server-2', token);
  server.agents.set('server-2', other);
  other.protocol = AGENT_PROTOCOL - 1;
  other.drivers = [7] as unknown as string[];
  await other.connect();
  expect(other.refused).toBe(
    `the agent speaks protocol ${AGENT_PROTOCOL - 1}, the server protocol ${AGENT_PROTOCOL}; install the same version of both`,
  );
});

describe('a join token', () => {
  const tokenOf = async (node: string) => (await server.api.call('createJoinToken', { body: { node } })).token;
  /** Connects, and says why it is refused; null: it is admitted. */
  const join = async (node: string, token: string | null, credential?: string): Promise<string | null> => {
    const joining = new FakeAgent(server.running.url, node, token);
    joining.credential = credential ?? joining.credential;
    await joining.connect();
    await joining.kill();
    return joining.refused;
  };
  const [first, second] = ['first'.padEnd(32, '.'), 'second'.padEnd(32, '.')];

  it('admits one credential, which then needs no token', async () => {
    const token = await tokenOf('server-2');
    expect(await join('server-2', token, first)).toBeNull();
    // As after a kill at any moment of joining: the server may know the credential or not.
    expect(await join('server-2', token, first)).toBeNull();
    expect(await join('server-2', null, first)).toBeNull();
    expect(await join('server-2', token, second)).toMatch('not valid for server-2, or was already used');
    expect(await join('server-2', null, second)).toMatch('not that of server-2; join with a new token');
  });

  it('admits its node only, and stays unused when it is refused', async () => {
    const token = await tokenOf('server-2');
    expect(await join('server-3', token)).toMatch('not valid for server-3');
    expect(await join('server-2', token)).toBeNull();
  });

  it('replaces the credential of its node, and no other', async () => {
    expect(await join('server-2', await tokenOf('server-2'), first)).toBeNull();
    expect(await join('server-2', await tokenOf('server-2'), second)).toBeNull();
    expect(await join('server-2', null, first)).toMatch('not that of server-2');
    expect(await join('server-2', null, second)).toBeNull();
    expect(agent.refused).toBeNull();
  });
});
