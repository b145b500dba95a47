import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import type { Event } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TwinKeeper } from './modules/twin/twin-keeper.js';
import { ChildServer, isAlive } from './testing/child-server.js';
import type { ApiClient } from './testing/client.js';
import { eventsOf } from './testing/events.js';
import { FakeAgent } from './testing/fake-agent.js';
import { FakeSwitch } from './testing/fake-switch.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { Scratch, signIn, TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

async function allEvents(api: ApiClient): Promise<Event[]> {
  return (await api.call('listEvents', { query: { limit: 1000 } })).items;
}

describe('when Redis hangs', () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await TestServer.start();
  });
  afterEach(() => server.stop());

  it('reads are answered, health tells it, and it is replaced without losing what was acknowledged', async () => {
    const redis = server.running.store.server!;
    const { id } = await server.api.call('createChain', { body: monitorChain('before') });
    const pid = redis.pid!;
    const beganMs = performance.now();
    process.kill(pid, 'SIGSTOP');
    const health = await server.api.call('getHealth');
    expect(health.status).toBe('failed');
    expect(health.parts.find(({ name }) => name === 'redis')).toMatchObject({ status: 'failed' });
    expect((await server.api.call('listChains')).items).toHaveLength(1);
    expect(performance.now() - beganMs).toBeLessThan(4000);
    const refused = await server.api.request('createChain', { body: JSON.stringify(monitorChain('meanwhile')) });
    expect(refused.status).toBe(503);
    await until('another Redis', () => redis.pid !== pid && redis.restarts === 1);
    await until('a change', async () => {
      const answer = await server.api.request('createChain', { body: JSON.stringify(monitorChain('after')) });
      return answer.status === 201 || answer.status === 409;
    });
    const { items } = await server.api.call('listChains');
    expect(items.map((chain) => chain.id)).toContain(id);
  });
});

describe('when Redis is killed', () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await TestServer.start();
  });
  afterEach(() => server.stop());

  it('nothing that was acknowledged is lost and no event is duplicated', async () => {
    await server.api.call('putInfrastructure', { body: RACK });
    const { token } = await server.api.call('createJoinToken', { body: { node: 'server-1' } });
    const agent = new FakeAgent(server.running.url, 'server-1', token);
    server.agents.set('server-1', agent);
    await agent.connect();
    const redis = server.running.store.server!;
    const acknowledged: string[] = [];
    let reported = 0;
    for (let round = 0; round < 3; round++) {
      const pid = redis.pid!;
      const from = acknowledged.length;
      for (let index = 0; acknowledged.length < from + 10; index++) {
        if (index === 4) process.kill(pid, 'SIGKILL');
        agent.send({
          type: 'event',
          event: 'port.up',
          subject: 'server-1',
          message: `tick ${reported++}`,
          t_ms: Date.now(),
          data: { port: 'probe' },
        });
        const name = `p-${round}-${index}`;
        const answer = await server.api.request('createChain', { body: JSON.stringify(monitorChain(name)) });
        if (answer.status === 201) acknowledged.push(name);
        else expect(answer.status).toBe(503);
      }
      await until('another Redis', () => redis.pid !== pid && redis.restarts === round + 1);
    }
    const { items } = await server.api.call('listChains', { query: { limit: 1000 } });
    const stored = new Set(items.map(({ draft }) => draft.name));
    expect(acknowledged.filter((name) => !stored.has(name))).toEqual([]);
    const events = await until('every event', async () => {
      const all = await allEvents(server.api);
      return all.filter(({ type }) => type === 'port.up').length >= reported && all;
    });
    const ticks = events.filter(({ type }) => type === 'port.up').map(({ message }) => message);
    expect(ticks).toEqual(Array.from({ length: reported }, (_, index) => `tick ${index}`));
    const created = eventsOf(events, 'chain.created').map(({ data }) => data.name);
    expect(created.toSorted()).toEqual([...stored].toSorted());
  });
});

describe('when the server is killed', () => {
  /** Long enough that no agent counts as stale on a slow machine. */
  const PATIENT = { twin: true, env: { ORRERY_AGENT_STALE_MS: '60000' } };
  let scratch: Scratch;
  let server: ChildServer;
  const agents: FakeAgent[] = [];
  const leaves: FakeSwitch[] = [];
  beforeEach(async () => {
    scratch = new Scratch();
    server = await ChildServer.start(scratch, PATIENT);
  });
  afterEach(async () => {
    for (const agent of [...agents.splice(0), ...leaves.splice(0)]) await agent.kill();
    await server.end('SIGTERM');
    scratch.remove();
  });

  /** Agents reach the server through its unix socket, whose path survives restarts. */
  async function bringUp(api: ApiClient): Promise<void> {
    await api.call('putInfrastructure', { body: RACK });
    const socket = `ws+unix:${join(scratch.runDir, 'agents.sock')}:/api/v1/agent`;
    for (const { id } of RACK.servers) {
      const { token } = await api.call('createJoinToken', { body: { node: id } });
      const agent = new FakeAgent(socket, id, token);
      await agent.connect();
      agents.push(agent);
    }
    for (const { id } of RACK.switches) {
      const { token } = await api.call('createJoinToken', { body: { node: id } });
      const leaf = new FakeSwitch(socket, id, token);
      await leaf.connect();
      leaves.push(leaf);
    }
    await until('the twin runs', async () => (await api.call('getTwin')).daemon === 'running');
  }

  it('in the middle of an operation, the next server finishes it with the same twin', async () => {
    expect(server.output).toMatch(`first-run admin secret: in ${scratch.stateDir}/admin-secret`);
    expect(server.output).not.toContain(scratch.secret);
    let api = await signIn(server.url, scratch.secret);
    await bringUp(api);
    for (const agent of agents) agent.hold = true;
    const { id } = await api.call('createChain', { body: monitorChain('a') });
    const { id: operation } = await api.call('createDeployment', { body: { chain_id: id } });
    await until('an agent was told', () => agents.some(({ told }) => told.length > 0));
    const redisFiles = join(scratch.stateDir, 'redis/appendonlydir');
    expect(existsSync(redisFiles)).toBe(true);
    const { started_ms } = await api.call('getHealth');
    await server.end('SIGKILL');
    const goneMs = Date.now();

    server = await ChildServer.start(scratch, PATIENT);
    expect(server.output).not.toMatch('first-run');
    api = (await signIn(server.url, scratch.secret)).as(api.token);
    expect((await api.call('getOperation', { params: { id: operation } })).state).toMatch(/PROCESSING|FAILED_TEMP/);
    for (const leaf of leaves) await leaf.connect();
    for (const agent of agents) {
      agent.hold = false;
      await agent.connect();
      expect(agent.refused).toBeNull();
    }
    await until(
      'the operation is completed',
      async () => (await api.call('getOperation', { params: { id: operation } })).state === 'COMPLETED',
    );
    expect(await api.call('getDeployment', { params: { chain_id: id } })).toMatchObject({ state: 'running' });
    const journal = scratch.twinJournal();
    expect(new Set(journal.map(({ pid }) => pid)).size).toBe(1);
    expect(leaves.flatMap(({ rules }) => rules)).not.toEqual([]);
    const events = await allEvents(api);
    const returned = eventsOf(events, 'server.returned').map(({ data }) => data.away_since_ms);
    expect(returned).toEqual([expect.toSatisfy((t_ms) => t_ms >= started_ms - 1000 && t_ms <= goneMs)]);
    const types = events.map(({ type }) => type);
    expect(types.filter((type) => type === 'operation.started')).toHaveLength(1);
    expect(types.filter((type) => type === 'operation.completed')).toHaveLength(1);
  });

  it('what ran keeps running: agents get the same state again and nothing is degraded', async () => {
    let api = await signIn(server.url, scratch.secret);
    await bringUp(api);
    const { id } = await api.call('createChain', { body: monitorChain('a') });
    await api.call('createDeployment', { body: { chain_id: id } });
    const isRunning = async () => (await api.call('getChain', { params: { id } })).deployment_state === 'running';
    await until('it runs', isRunning);
    const specs = agents.map(({ spec }) => spec);
    const entries = leaves.map(({ spec }) => spec);
    await server.end('SIGKILL');
    server = await ChildServer.start(scratch, PATIENT);
    api = await signIn(server.url, scratch.secret);
    for (const agent of [...agents, ...leaves]) await agent.connect();
    expect(leaves.map(({ spec }) => spec)).toEqual(entries);
    expect(agents.map(({ spec }) => spec)).toEqual(specs);
    expect(await isRunning()).toBe(true);
    await until('the twin runs', async () => (await api.call('getTwin')).daemon === 'running');
  });

  it('and ended by SIGTERM it leaves nothing behind', async () => {
    const api = await signIn(server.url, scratch.secret);
    await bringUp(api);
    const twin = Number(readFileSync(join(scratch.runDir, 'twin.pid'), 'utf8'));
    expect(isAlive(twin)).toBe(true);
    expect(await server.end('SIGTERM')).toBe(0);
    expect(isAlive(twin)).toBe(false);
    for (const name of ['redis.sock', 'agents.sock', 'twin.pid'])
      expect(existsSync(join(scratch.runDir, name)), name).toBe(false);
  });

  it('a second server on the same directories fails with a clear message and does no harm', async () => {
    await expect(ChildServer.start(scratch, { twin: true })).rejects.toThrow('ended with 1');
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });
});

describe('a start', () => {
  it('that fails stops everything it started', async () => {
    const first = await TestServer.start({ twin: true });
    await first.bringUp();
    await first.pause();
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const ended = vi.spyOn(TwinKeeper.prototype, 'onApplicationShutdown');
    const port = String((taken.address() as AddressInfo).port);
    const { scratch } = first;
    await expect(TestServer.start({ twin: true, env: { ORRERY_PORT: port } }, scratch)).rejects.toThrow('EADDRINUSE');
    expect(ended).toHaveBeenCalledOnce();
    await ended.mock.results[0]!.value;
    for (const name of ['redis.sock', 'agents.sock', 'twin.pid'])
      expect(existsSync(join(scratch.runDir, name)), name).toBe(false);
    ended.mockRestore();
    taken.close();
    scratch.remove();
  });

  it('that is interrupted exits cleanly and leaves nothing behind', async () => {
    const scratch = new Scratch();
    const server = ChildServer.begin(scratch);
    await until('its Redis', () => existsSync(join(scratch.runDir, 'redis.sock')));
    expect(server.url).toBe('');
    expect(await server.end('SIGTERM')).toBe(0);
    expect(existsSync(join(scratch.runDir, 'redis.sock'))).toBe(false);
    scratch.remove();
  });
});

describe('the command line', () => {
  it('prints help', async () => {
    const { stdout } = await ChildServer.run('--help');
    for (const name of ['ORRERY_PORT', 'ORRERY_STATE_DIR', 'REDIS_URL', 'ORRERY_TWIN']) expect(stdout).toContain(name);
  });

  it('rejects unknown options', async () => {
    await expect(ChildServer.run('--fast')).rejects.toMatchObject({ code: 2 });
  });
});
