import { afterEach, beforeEach, expect, it } from 'vitest';
import { KEYS } from './platform/redis-keys.js';
import { FakeAgent } from './testing/fake-agent.js';
import { monitorChain } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp();
});
afterEach(() => server.stop());

/** What was stored before collections had envelopes. */
async function withoutEnvelopes(key: string, plain: (value: Record<string, unknown>) => unknown): Promise<void> {
  const { redis } = server.running.store;
  for (const [id, text] of Object.entries(await redis.hgetall(key)))
    await redis.hset(key, id, JSON.stringify(plain(JSON.parse(text).value)));
}

async function listed(): Promise<unknown> {
  const { items: chains } = await server.api.call('listChains');
  const { items: operations } = await server.api.call('listOperations');
  const { items: deployments } = await server.api.call('listDeployments');
  return { chains, operations, deployments };
}

it('chains, operations, deployments and agents that an earlier server stored are read', async () => {
  const { id } = await server.api.call('createChain', { body: monitorChain('a') });
  await server.finished((await server.api.call('createDeployment', { body: { chain_id: id } })).id);
  const before = await listed();
  for (const key of [KEYS.chains, KEYS.operations, KEYS.deployments]) await withoutEnvelopes(key, (value) => value);
  await withoutEnvelopes(KEYS.agents, ({ node: _node, ...record }) => record);
  const [agent] = server.agents.values();
  const { scratch } = server;
  await server.pause();
  server = await TestServer.start({ twin: true, env: { ORRERY_AGENT_STALE_MS: '60000' } }, scratch);
  expect(await listed()).toEqual(before);
  const again = new FakeAgent(server.running.url, agent!.node, null);
  again.credential = agent!.credential;
  await again.connect();
  server.agents.set(agent!.node, again);
  const { items } = await server.api.call('listNodes');
  expect(items.find((node) => node.id === agent!.node)).toMatchObject({ state: 'connected' });
  const saved = await server.api.call('putChain', { params: { id }, body: { ...monitorChain('a'), title: 'New' } });
  expect(saved.revision).toBe(2);
});
