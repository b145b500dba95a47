import { ChainDefinition, type ImplementationChoice, nfInstances, type Plan } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeAgent } from './testing/fake-agent.js';
import { monitorChain } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

let server: TestServer;
let docker: FakeAgent;
let chain_id: string;

beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp();
  docker = server.agents.get('server-2')!;
  ({ id: chain_id } = await server.api.call('createChain', { body: monitorChain('a') }));
  await server.finished((await server.api.call('createDeployment', { body: { chain_id } })).id);
  await reconnect(['engine', 'container']);
});
afterEach(() => server.stop());

/** The agent reconnects with the drivers that it offers by then. */
async function reconnect(drivers: string[]): Promise<void> {
  await docker.kill();
  docker.drivers = drivers;
  await docker.connect();
}

/** The container exits; the agent reconnects with the drivers that it offers. */
async function failWithDocker(drivers = ['engine']): Promise<void> {
  docker.hold = true;
  const instances = docker.observed.instances.map(({ id }) => ({ id, state: 'failed' as const, detail: 'no Docker' }));
  docker.report({ ...docker.observed, state: 'progressing', instances });
  await reconnect(drivers);
}

const stateOf = async (id: string) => (await server.api.call('getNode', { params: { id } })).state;

const monitor = (on: ImplementationChoice['on'], more: Partial<ImplementationChoice> = {}) => ({
  chain_id,
  node_id: 'monitor',
  on,
  ...more,
});
const planned = (...implementations: ReturnType<typeof monitor>[]): Promise<Plan> =>
  server.api.call('createPlan', { body: { implementations } });
const deployed = async (plan: Plan) =>
  server.finished((await server.api.call('createDeployment', { body: { plan_id: plan.id } })).id);
const placesOf = ({ graph }: Plan) =>
  nfInstances(graph).map(({ id, driver, server: at }) => `${id} (${driver}) on ${at}`);

describe('an NF in a container', () => {
  it('is planned and deployed on a server whose agent offers containers, and keeps its flows', async () => {
    const plan = await planned(monitor('container'));
    expect(placesOf(plan)).toEqual(['a.monitor.container-0 (container) on server-2']);
    expect(await deployed(plan)).toMatchObject({ state: 'COMPLETED' });
    expect(docker.spec!.instances).toMatchObject([{ id: 'a.monitor.container-0', driver: 'container' }]);
    const calls = [...server.agents.values()].flatMap((agent) => agent.calls);
    expect(calls.map(({ method, instance_id }) => `${method} ${instance_id}`)).toContain('export_state a.monitor.0');
    expect(placesOf(await planned())).toEqual(placesOf(plan));
  });

  it('stays while it works, even if its agent is away or offers no containers, whatever else is deployed', async () => {
    const plan = await planned(monitor('container'));
    await deployed(plan);
    const expectKept = async () => {
      const next = await planned();
      expect(next).toMatchObject({ feasible: true, abandoned: [] });
      expect(placesOf(next)).toEqual(expect.arrayContaining(placesOf(plan)));
    };
    await docker.kill();
    await until('its agent is missed', async () => (await stateOf('server-2')) === 'disconnected');
    await expectKept();
    await reconnect(['engine']);
    await expectKept();
    const { id } = await server.api.call('createChain', { body: monitorChain('b', 'client-2') });
    await server.finished((await server.api.call('createDeployment', { body: { chain_id: id } })).id);
    expect(docker.spec!.instances.map((it) => it.id)).toContain('a.monitor.container-0');
    await docker.kill();
    await expectKept();
    await server.pause();
    server = await TestServer.start({ twin: true }, server.scratch);
    await expectKept();
  });

  it('moves back to software if it failed and its agent no longer offers containers', async () => {
    await deployed(await planned(monitor('container')));
    await failWithDocker();
    const back = await planned();
    expect(back.abandoned).toEqual(['a.monitor.container-0']);
    expect(nfInstances(back.graph)).toMatchObject([{ driver: 'engine' }]);
    docker.hold = false;
    expect(await deployed(back)).toMatchObject({ state: 'COMPLETED' });
    const told = [...server.agents.values()].flatMap(({ spec }) => spec?.instances ?? []);
    expect(told.map(({ id }) => id)).toEqual(['a.monitor.0']);
  });

  it('stays if it failed but its agent can restart it', async () => {
    const plan = await planned(monitor('container'));
    await deployed(plan);
    await failWithDocker(['engine', 'container']);
    expect(placesOf(await planned())).toEqual(placesOf(plan));
  });

  it('is an unmodified program, too, where an agent says that its containers run them', async () => {
    const { traffic_class, ...chain } = monitorChain('c', 'client-2');
    const nodes = chain.nodes.map((node) => (node.kind === 'nf' ? { ...node, nf: 'http-proxy' } : node));
    const body = ChainDefinition.parse({ ...chain, traffic_class, nodes, slos: [] });
    const { id } = await server.api.call('createChain', { body });
    const asked = { chains: [{ chain_id: id }], implementations: [monitor('container', { chain_id: id })] };
    const plan = () => server.api.call('createPlan', { body: asked });
    expect((await plan()).conflicts).toContainEqual(
      expect.objectContaining({ unit: 'container runtime, permission and programs for http-proxy' }),
    );
    docker.containsPrograms = true;
    await reconnect(['engine', 'container']);
    const made = await plan();
    expect(placesOf(made)).toContain('c.monitor.container-0 (container) on server-2');
    expect(await deployed(made)).toMatchObject({ state: 'COMPLETED' });
    const told = docker.spec!.instances.find((it) => it.driver === 'container');
    expect(told).toMatchObject({ nf: 'http-proxy', program: { forwarding: 'route' } });
  });

  it('is an image, where Docker has it, and its log is told', async () => {
    const { traffic_class, ...chain } = monitorChain('c', 'client-2');
    const nodes = chain.nodes.map((node) => (node.kind === 'nf' ? { ...node, nf: 'nftables-container' } : node));
    const { id } = await server.api.call('createChain', {
      body: ChainDefinition.parse({ ...chain, traffic_class, nodes, slos: [] }),
    });
    const plan = () => server.api.call('createPlan', { body: { chains: [{ chain_id: id }] } });
    docker.images = ['orrery/squid:1.0.0'];
    await reconnect(['engine', 'container']);
    expect((await plan()).conflicts).toContainEqual(
      expect.objectContaining({ unit: 'permission or image for nftables-container' }),
    );
    docker.images = ['orrery/nftables:1.0.0'];
    await reconnect(['engine', 'container']);
    const made = await plan();
    expect(placesOf(made)).toContain('c.monitor.container-0 (container) on server-2');
    expect(await deployed(made)).toMatchObject({ state: 'COMPLETED' });
    const told = docker.spec!.instances.find((it) => it.driver === 'container');
    expect(told).toMatchObject({ image: { reference: 'orrery/nftables:1.0.0', pull: 'never' } });

    const log = { lines: [{ t_ms: 1, text: 'up' }], next: '1.000000000', missed: false };
    docker.answers.set('read_log', log);
    const params = { id: 'c.monitor.container-0' };
    expect(await server.api.call('getNfInstanceLog', { params, query: { lines: 10 } })).toEqual(log);
    await server.api.call('getNfInstanceLog', { params, query: { after: log.next } });
    expect(docker.calls.at(-1)).toMatchObject({ method: 'read_log', params: { lines: 200, after: log.next } });
    docker.answers.set('read_log', { lines: 'none' });
    expect(await server.api.request('getNfInstanceLog', { params })).toMatchObject({ status: 502 });
    const query = { lines: 100_000, after: 'yesterday' };
    const refused = await server.api.request('getNfInstanceLog', { params, query });
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ pointer: '/lines' }, { pointer: '/after' }] } });
  });

  it('is refused, naming the field, if no agent offers containers or a slot is given', async () => {
    const slotted = await planned(monitor('container', { slot: { board: 'board-1', slot: 0 } }));
    expect(slotted.problems).toMatchObject([{ code: 'bad-implementation', pointer: '/implementations/0/slot' }]);
    await reconnect(['engine']);
    const refused = await planned(monitor('container'));
    expect(refused).toMatchObject({ feasible: false, problems: [{ pointer: '/implementations/0/on' }] });
    const answer = await server.api.request('createDeployment', { body: JSON.stringify({ plan_id: refused.id }) });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: '/implementations/0/on' }] } });
  });
});
