import { join } from 'node:path';
import { Infrastructure, type ScenarioRun } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChildServer } from './testing/child-server.js';
import type { ApiClient } from './testing/client.js';
import { FakeAgent } from './testing/fake-agent.js';
import { FakeSwitch } from './testing/fake-switch.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { Scratch, signIn } from './testing/server.js';
import { until } from './testing/wait.js';

const clients = [3, 4].map((n) => ({
  ...RACK.hosts[0],
  id: `client-${n}`,
  title: `Client ${n}`,
  addresses: [{ address: `10.0.1.${n}` }],
  mac: `02:00:0a:00:01:0${n}`,
}));
const links = [3, 4].map((n) => ({
  id: `client-${n}-leaf-1`,
  a: { node: `client-${n}`, port: 'eth0' },
  b: { node: 'leaf-1', port: `p${5 + n + 2}` },
  bandwidth_bps: 1e9,
}));
const board = {
  id: 'board-1',
  origin: 'twin',
  server: 'server-1',
  device: 'test',
  slots: 1,
  clock_mhz: 100,
  resources: { lut: 1e6, ff: 1e6, 'bram-kib': 1e6 },
  bandwidth_bps: 1e9,
  latency_us: 1,
};
const LAB = Infrastructure.parse({
  ...RACK,
  hosts: [...RACK.hosts, ...clients],
  links: [...RACK.links, ...links],
  boards: [board],
});

let scratch: Scratch;
let server: ChildServer;
let api: ApiClient;
const agents: FakeAgent[] = [];
const leaves: FakeSwitch[] = [];

beforeEach(async () => {
  scratch = new Scratch();
  server = await ChildServer.start(scratch, { twin: true });
  api = await signIn(server.url, scratch.secret);
  await api.call('putInfrastructure', { body: LAB });
  const socket = `ws+unix:${join(scratch.runDir, 'agents.sock')}:/api/v1/agent`;
  for (const { id } of LAB.servers) {
    const { token } = await api.call('createJoinToken', { body: { node: id } });
    const agent = new FakeAgent(socket, id, token);
    agents.push(agent);
    if (id === board.server) agent.boards = { [board.id]: board.slots };
    await agent.connect();
    agent.reach();
  }
  for (const { id } of LAB.switches) {
    const { token } = await api.call('createJoinToken', { body: { node: id } });
    const leaf = new FakeSwitch(socket, id, token);
    leaves.push(leaf);
    await leaf.connect();
  }
  await until('the twin runs', async () => (await api.call('getTwin')).daemon === 'running');
});
afterEach(async () => {
  for (const agent of [...agents.splice(0), ...leaves.splice(0)]) await agent.kill();
  await server.end('SIGTERM');
  scratch.remove();
});

async function killAndRestart(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
  await server.end(signal);
  server = await ChildServer.start(scratch, { twin: true });
  api = await signIn(server.url, scratch.secret);
  for (const agent of [...agents, ...leaves]) await agent.connect();
}

const start = async () => (await api.call('startScenario', { params: { id: 'reconfiguration' }, body: {} })).id;
const runOf = (id: string): Promise<ScenarioRun> => api.call('getScenarioRun', { params: { id } });

/** Number of chains, policies and applications. */
async function there(): Promise<number[]> {
  const lists = [
    await api.call('listChains'),
    await api.call('listReconfigurationPolicies'),
    await api.call('listApplications'),
  ];
  return lists.map(({ items }) => items.length);
}

const isAt = (wanted: number[]) => async () => (await there()).join() === wanted.join();

describe('a scenario run that is interrupted by the end of the server', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'by %s is closed as failed, and what it created is removed',
    async (signal) => {
      const run = await start();
      await until('chains, policy and applications', isAt([2, 1, 4]));
      await killAndRestart(signal);
      expect(await runOf(run)).toMatchObject({
        state: 'failed',
        detail: 'Interrupted by a restart of the server; cleaned up.',
      });
      await until('nothing is left', isAt([0, 0, 0]));
      await until('it is told', async () => {
        const { items } = await api.call('listEvents', { query: { type: 'scenario.cleaned' } });
        return items.length === 1;
      });
      const again = await start();
      await until('the next one makes its own', isAt([2, 1, 4]));
      await api.call('stopScenarioRun', { params: { id: again } });
      expect(await there()).toEqual([0, 0, 0]);
    },
  );

  it('leaves no application that the twin, also killed, would restart', async () => {
    await start();
    await until('chains, policy and applications', isAt([2, 1, 4]));
    process.kill(scratch.twinJournal().at(-1)!.pid, 'SIGKILL');
    await killAndRestart();
    await until('it is told', async () => {
      const { items } = await api.call('listEvents', { query: { type: 'scenario.cleaned' } });
      return items.length === 1;
    });
    await until('the twin is up', async () => (await api.call('getTwin')).state?.phase === 'up');
    expect(await there()).toEqual([0, 0, 0]);
  });

  it.each<[string, () => Promise<boolean>]>([
    ['its first chain', async () => (await there())[0]! > 0],
    ['its reconfiguration', async () => (await api.call('listReconfigurations')).items.length > 0],
  ])('just after creating %s leaves nothing either', async (what, isMade) => {
    await start();
    await until(what, isMade);
    await killAndRestart();
    await until('nothing is left', isAt([0, 0, 0]));
    const { items } = await api.call('listReconfigurations');
    expect(items.filter(({ state }) => state === 'running' || state === 'failed')).toEqual([]);
  });

  it('does not touch what a user created, whatever its name', async () => {
    const own = {
      name: 'scenario-ddos',
      title: 'my own',
      traffic_class: { from: ['client-1'], rate_bps: 1e6 },
      nodes: [
        { id: 'in', kind: 'ingress' },
        { id: 'nf', kind: 'nf', nf: 'monitor' },
        { id: 'out', kind: 'egress' },
      ],
      edges: [
        { id: 'e1', from: 'in', to: 'nf' },
        { id: 'e2', from: 'nf', to: 'out' },
      ],
    };
    await api.call('createChain', { body: own });
    const refused = await api.request('startScenario', { params: { id: 'reconfiguration' }, body: '{}' });
    expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('is there already') } });
    expect((await api.call('listScenarioRuns')).items).toEqual([]);
    await killAndRestart();
    expect((await api.call('listChains')).items.map(({ draft }) => draft.title)).toEqual(['my own']);
  });

  it('is refused before it makes anything while a running chain has its traffic', async () => {
    const { id } = await api.call('createChain', { body: monitorChain('mine', 'client-3') });
    const start = () => api.request('startScenario', { params: { id: 'reconfiguration' }, body: '{}' });
    const accepted = await api.call('createDeployment', { body: { chain_id: id } });
    await until('it runs', async () => {
      const { state } = await api.call('getOperation', { params: { id: accepted.id } });
      return state === 'COMPLETED';
    });
    const detail = expect.stringMatching(/packets from "client-3" belong to "mine" too.*: remove that chain/);
    expect(await start()).toMatchObject({ status: 409, body: { detail } });
    expect((await api.call('listScenarioRuns')).items).toEqual([]);
    expect((await api.call('listChains')).items.map(({ draft }) => draft.name)).toEqual(['mine']);
  });
});
