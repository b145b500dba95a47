import { ChainDefinition, type ElementState, type ObservedElement } from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventsOf } from './testing/events.js';
import type { FakeAgent } from './testing/fake-agent.js';
import { RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const KEY = '5f1d3b9a7c2e4f60815d2c3e4a5b6978c0ffee1122334455d00df00dcafebabe';
const CHAIN = ChainDefinition.parse({
  name: 'web',
  title: 'Web',
  traffic_class: { from: ['client-1'], match: [{ attribute: 'ip.dst', value: '10.0.2.0/24' }], rate_bps: 1e7 },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'tunnel', kind: 'nf', nf: 'crypto-tunnel', config: { key: KEY, acceleration: 'none' } },
    { id: 'mon', kind: 'nf', nf: 'monitor' },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e1', from: 'in', to: 'tunnel' },
    { id: 'e2', from: 'tunnel', to: 'mon' },
    { id: 'e3', from: 'mon', to: 'out' },
  ],
  slos: [],
});
const ID = 'web.tunnel.0';
const PLAIN: ObservedElement = { accelerated: false, kinds: ['instructions'], cpu_limit: null, switched_ms: null };
const FAST: ObservedElement = { ...PLAIN, accelerated: true, switched_ms: 7 };

let server: TestServer;
let agent: FakeAgent;
let chain_id: string;
beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp(RACK);
  chain_id = (await server.api.call('createChain', { body: CHAIN })).id;
  const { id } = await server.api.call('createDeployment', { body: { chain_id } });
  expect(await server.finished(id)).toMatchObject({ state: 'COMPLETED', error: null });
  agent = [...server.agents.values()].find(({ spec }) => spec?.instances.some((it) => it.id === ID))!;
});
afterEach(() => server.stop());

const get = (id = ID) => server.api.call('getNfInstanceElement', { params: { id } });
const accelerate = () => server.api.call('accelerateNfInstance', { params: { id: ID } });
const release = () => server.api.call('releaseNfInstance', { params: { id: ID } });
/** Oldest first. */
const ofNf = async () => eventsOf((await server.api.call('listEvents', { query: { limit: 500 } })).items, 'nf.');

/** Its agent tells of it, or that it does not run. */
function tells(element: ObservedElement | null): void {
  const instances = agent.observed.instances.map((instance) =>
    instance.id === ID
      ? element
        ? { id: ID, state: 'running' as const, detail: null, element }
        : { id: ID, state: 'starting' as const, detail: null }
      : instance,
  );
  agent.report({ ...agent.observed, instances });
}

const isRefused = async (status: number) =>
  (await server.api.request('getNfInstanceElement', { params: { id: ID } })).status === status;

const told = (fits: (state: ElementState) => boolean) =>
  until('the state is told', async () => get().then(fits, () => false));

it('tells the instance how it can be switched, and the caller what its agent says', async () => {
  const spec = agent.spec!.instances.find(({ id }) => id === ID)!;
  expect(spec.acceleration).toMatchObject({ setting: 'acceleration', accelerated: 'instructions', plain: 'none' });
  expect(agent.spec!.instances.find(({ nf }) => nf === 'monitor')?.acceleration).toBeUndefined();
  await expect(get('web.mon.0')).rejects.toThrow(/: 404 /);
  await expect(get('web.none.0')).rejects.toThrow(/: 404 /);
  await expect(get()).rejects.toThrow(/: 404 /);
  tells(PLAIN);
  await told(({ accelerated }) => !accelerated);
  expect(await get()).toEqual({ instance_id: ID, ...PLAIN, cpu_share: null, bps: null });
  agent.sample(100);
  agent.sample(100);
  await told(({ cpu_share, bps }) => cpu_share === 0.05 && bps !== null && bps > 0);
});

it('switches by its agent, and records who asked', async () => {
  tells(PLAIN);
  await told(({ accelerated }) => !accelerated);
  agent.answers.set('accelerate', FAST);
  expect(await accelerate()).toMatchObject({ instance_id: ID, accelerated: true, switched_ms: 7 });
  expect(agent.calls.at(-1)).toMatchObject({ method: 'accelerate', instance_id: ID });
  tells(FAST);
  await told(({ accelerated }) => accelerated);
  agent.answers.set('release', { ...PLAIN, switched_ms: 9 });
  expect(await release()).toMatchObject({ accelerated: false, switched_ms: 9 });
  const [first, second, ...more] = await until('both are recorded', async () => {
    const found = await ofNf();
    return found.length >= 2 && found;
  });
  expect(more).toEqual([]);
  expect(first).toMatchObject({ type: 'nf.accelerated', subject: ID, data: { node_id: 'tunnel', server: agent.node } });
  expect(second).toMatchObject({ type: 'nf.released', subject: ID });
  expect(first!.actor).toBe(second!.actor);
  expect(first!.actor).not.toBe('server');
});

it('follows what agents report, also over their reconnection and a restart of the instance', async () => {
  tells(FAST);
  await told(({ accelerated }) => accelerated);
  tells(null);
  await until('it does not run', () => isRefused(404));
  tells(PLAIN);
  await told(({ accelerated }) => !accelerated);
  await until('its release is recorded', async () => (await ofNf()).some(({ type }) => type === 'nf.released'));
  expect((await ofNf())[0]!.actor).toBe('server');
  await agent.kill();
  await until('its agent is away', () => isRefused(502));
  await expect(accelerate()).rejects.toThrow(/: 502 /);
  await agent.connect();
  agent.reach();
  tells(FAST);
  await told(({ accelerated }) => accelerated);
  await until('the truth is what it reports', async () => (await ofNf()).at(-1)?.type === 'nf.accelerated');
});

it('refuses what cannot be done, and says why', async () => {
  await expect(accelerate()).rejects.toThrow(/: 409 /);
  tells({ ...PLAIN, kinds: [] });
  await told(({ kinds }) => kinds.length === 0);
  await expect(accelerate()).rejects.toThrow(/: 409 .*lacks/);
  tells(PLAIN);
  await told(({ kinds }) => kinds.length === 1);
  agent.refusals.set('accelerate', 'it is too late');
  await expect(accelerate()).rejects.toThrow(/: 502 .*it is too late/);
  agent.refusals.clear();
  agent.answers.set('accelerate', { accelerated: 'perhaps' });
  await expect(accelerate()).rejects.toThrow(/: 502 /);
  expect(await get()).toMatchObject({ accelerated: false });
  expect(await ofNf()).toEqual([]);
});

it('does not switch what a lending group decides about, and says of what its processor lacks why it does not take part', async () => {
  tells({ ...PLAIN, kinds: [] });
  await told(({ accelerated }) => !accelerated);
  const accelerators = [{ kind: 'instructions' as const, server: agent.node }];
  const body = { title: 'Offices', nfs: [{ chain_id, node_id: 'tunnel' }], accelerators };
  const group = await server.api.call('createLendingGroup', { body });
  expect(group.accelerators_now).toMatchObject([{ state: 'lacking' }]);
  expect(group.members).toMatchObject([{ instance_id: ID, lacks: true }]);
  await expect(accelerate()).rejects.toThrow(/: 409 .*Offices/);
  await expect(release()).rejects.toThrow(/: 409 .*Offices/);
  await server.api.call('deleteLendingGroup', { params: { id: group.id } });
  agent.answers.set('release', PLAIN);
  expect(await release()).toMatchObject({ accelerated: false });
});
