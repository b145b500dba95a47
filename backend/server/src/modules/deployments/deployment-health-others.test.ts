import type { Observed } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeAgent } from '../../testing/fake-agent.js';
import { monitorChain, RACK } from '../../testing/fixtures.js';
import { TestServer } from '../../testing/server.js';
import { until } from '../../testing/wait.js';

/** All chains share one server. */
const [ONLY, ...OTHERS] = RACK.servers;
const isOther = (node: string) => OTHERS.some(({ id }) => id === node);
const LINKS = RACK.links.filter(({ a, b }) => !isOther(a.node) && !isOther(b.node));
const KILLED = 'killed by signal 9';

let server: TestServer;
let host: FakeAgent;
let inEngine: string;
let inContainer: string;

beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  const offers = (agent: FakeAgent) => {
    agent.drivers = ['engine', 'container'];
  };
  await server.bringUp({ ...RACK, servers: [ONLY!], links: LINKS }, offers);
  host = server.agents.get(ONLY!.id)!;
  inEngine = await deploy('a', 'client-1', 'software');
  inContainer = await deploy('b', 'client-2', 'container');
});
afterEach(() => server.stop());

async function deploy(name: string, from: string, on: 'software' | 'container'): Promise<string> {
  const { id } = await server.api.call('createChain', { body: monitorChain(name, from) });
  const implementations = [{ chain_id: id, node_id: 'monitor', on }];
  const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id: id }], implementations } });
  const accepted = await server.api.call('createDeployment', { body: { plan_id: plan.id } });
  expect(await server.finished(accepted.id)).toMatchObject({ state: 'COMPLETED' });
  return id;
}

const deployment = (chain_id: string) => server.api.call('getDeployment', { params: { chain_id } });
const becomes = (chain_id: string, wanted: string) =>
  until(`${wanted}`, async () => (await deployment(chain_id)).state === wanted);

/** The program in the container has ended; the engine runs on, as `seen` says. */
function reportKilled(seen: Partial<Observed> = {}): void {
  const instances = host.spec!.instances.map(({ id, driver }) =>
    driver === 'container'
      ? { id, state: 'failed' as const, detail: KILLED }
      : { id, state: 'running' as const, detail: null },
  );
  host.report({ ...host.observed, state: 'progressing', instances, ...seen });
}

/** Events of degradations, by chain. */
async function degraded(): Promise<[string, string][]> {
  const { items } = await server.api.call('listEvents', { query: { type: 'deployment.degraded', limit: 1000 } });
  return items.map(({ subject, message }) => [subject, message]);
}

describe('a program that ends on a server', () => {
  it.each<[string, Partial<Observed>]>([
    ['while it is restarted', {}],
    ['when its agent has started anew since', { generation: 0 }],
    ['for good', { state: 'failed', error: KILLED }],
  ])('degrades its own chain, with the cause, and no other: %s', async (_case, seen) => {
    reportKilled(seen);
    await becomes(inContainer, 'degraded');
    expect(await deployment(inContainer)).toMatchObject({ reason: `b.monitor.container-0: ${KILLED}` });
    expect(await deployment(inEngine)).toMatchObject({ state: 'running' });
    host.reach();
    await becomes(inContainer, 'running');
    expect((await degraded()).map(([subject]) => subject)).toEqual([inContainer]);
  });

  it('does not keep another chain from recovering', async () => {
    reportKilled({ troubles: ['nic0: its link is down'] });
    await becomes(inEngine, 'degraded');
    reportKilled({ troubles: [] });
    await becomes(inEngine, 'running');
    expect(await deployment(inContainer)).toMatchObject({ state: 'degraded' });
  });

  it('hides nothing that the other chain lacks', async () => {
    const instances = host.spec!.instances.map(({ id, driver }) => ({
      id,
      state: driver === 'container' ? ('failed' as const) : ('pending' as const),
      detail: null,
    }));
    host.report({ ...host.observed, state: 'progressing', instances });
    await becomes(inEngine, 'degraded');
    expect(await deployment(inEngine)).toMatchObject({ reason: 'a.monitor.0: pending' });
    host.reach();
    await becomes(inEngine, 'running');
    host.report({ ...host.observed, state: 'failed', error: 'the engine refuses the graph' });
    await becomes(inEngine, 'degraded');
    expect(await deployment(inEngine)).toMatchObject({ reason: `${host.node}: the engine refuses the graph` });
  });
});
