import { ChainDefinition, Infrastructure, nfInstances, type Operation } from '@orrery/contract';
import { afterEach, expect, it } from 'vitest';
import { isOver } from './ports/operation-log.js';
import type { FakeSwitch } from './testing/fake-switch.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const PLACES: Readonly<Record<string, string>> = {
  'client-1': 'leaf-1',
  'server-1': 'leaf-1',
  'client-2': 'leaf-2',
  'server-2': 'leaf-2',
  'server-3': 'leaf-4',
  'web-1': 'leaf-3',
  'web-2': 'leaf-4',
};
const [LEAF] = RACK.switches;
/** Four leaves at a spine; no server is at the third. */
const SITE = Infrastructure.parse({
  ...RACK,
  switches: ['leaf-1', 'leaf-2', 'leaf-3', 'leaf-4', 'spine'].map((id) => ({ ...LEAF, id, title: id })),
  links: [
    ...RACK.links.map((link) => ({ ...link, b: { ...link.b, node: PLACES[link.a.node] } })),
    ...[1, 2, 3, 4].map((i) => ({
      id: `trunk-${i}`,
      a: { node: `leaf-${i}`, port: 'up' },
      b: { node: 'spine', port: `down-${i}` },
      bandwidth_bps: 1_000_000_000,
    })),
  ],
});

let server: TestServer;
let third: FakeSwitch;
let fourth: FakeSwitch;
async function start(stepTimeoutMs: number): Promise<void> {
  server = await TestServer.start({ twin: true, env: { ORRERY_STEP_TIMEOUT_MS: String(stepTimeoutMs) } });
  await server.bringUp(SITE);
  third = server.switches.get('leaf-3')!;
  fourth = server.switches.get('leaf-4')!;
}
afterEach(() => server.stop());

/** A chain of one monitor for packets of the hosts to the address. */
async function createTo(address: string, name: string, ...from: string[]): Promise<string> {
  const { traffic_class, ...base } = monitorChain(name);
  const match = [{ attribute: 'ip.dst', value: address }];
  const body = ChainDefinition.parse({ ...base, slos: [], traffic_class: { ...traffic_class, from, match } });
  return (await server.api.call('createChain', { body })).id;
}
const create = (name: string, ...from: string[]) => createTo('10.0.2.0/24', name, ...from);
const deploy = (chain_id: string) => server.api.call('createDeployment', { body: { chain_id } });
const deployed = async () => (await server.api.call('listDeployments')).items.map(({ chain_id }) => chain_id);
const becomes = (id: string, what: string, holds: (operation: Operation) => boolean) =>
  until(`${id} is ${what}`, async () => {
    const operation = await server.operation(id);
    if (isOver(operation) && !holds(operation)) throw new Error(`ended: ${JSON.stringify(operation)}`);
    return holds(operation);
  });

async function leaves(leaf: FakeSwitch): Promise<void> {
  await leaf.kill();
  await until('its silence is seen', async () =>
    (await server.api.call('getSwitch', { params: { id: leaf.node } })).connected ? null : true,
  );
}

it('a switch that is away stops no operation of chains that it does not carry', async () => {
  await start(60_000);
  const [a, b] = [await create('a', 'client-1'), await create('b', 'client-2')];
  await leaves(third);
  const operations = [await deploy(a), await deploy(b)];
  for (const { id } of operations) expect((await server.finished(id)).state).toBe('COMPLETED');
  expect((await deployed()).sort()).toEqual([a, b].sort());
  const undeployed = await server.api.call('deleteDeployment', { params: { chain_id: a } });
  expect((await server.finished(undeployed.id)).state).toBe('COMPLETED');
  expect(server.steered.filter((rule) => rule.includes('classify'))).toEqual(['classify/b.e1']);
});

it('a switch that is away degrades the chains that it carries, and no other', async () => {
  await start(60_000);
  const [a, b] = [await create('a', 'client-1', 'web-1'), await create('b', 'client-2')];
  for (const id of [a, b]) expect((await server.finished((await deploy(id)).id)).state).toBe('COMPLETED');
  const stateOf = async (chain_id: string) => server.api.call('getDeployment', { params: { chain_id } });
  await leaves(third);
  await until('a is degraded', async () => (await stateOf(a)).state === 'degraded');
  expect(await stateOf(a)).toMatchObject({ reason: expect.stringContaining('leaf-3: its agent is not connected') });
  expect(await stateOf(b)).toMatchObject({ state: 'running' });
  await third.connect();
  await until('a recovers', async () => (await stateOf(a)).state === 'running');
});

it('an operation names the agents that it waits for, long before its time-out', async () => {
  await start(600_000);
  const a = await create('a', 'client-1', 'web-1');
  const plan = await server.api.call('previewPlan', { body: { chains: [{ chain_id: a }] } });
  const host = server.agents.get(nfInstances(plan.graph)[0]!.server)!;
  host.hold = true;
  const { id } = await deploy(a);
  await until('the server is told', () => (host.spec?.instances.length ?? 0) > 0);
  await leaves(third);
  await host.kill();
  const says = (subject: string, detail: string) =>
    becomes(id, `waiting: ${detail}`, ({ state, steps }) => {
      const step = steps.find((each) => each.state === 'running' && each.subject === subject);
      return state === 'PROCESSING' && step?.detail === detail;
    });
  await says(host.node, `waiting for the agent of ${host.node} (not connected)`);
  host.hold = false;
  await host.connect();
  await says('fabric', 'waiting for the agent of leaf-3 (not connected)');
  await third.connect();
  const { state, steps } = await server.finished(id);
  expect([state, ...new Set(steps.map(({ detail }) => detail))]).toEqual(['COMPLETED', null]);
});

it('an operation of a chain that it carries is set aside, takes no traffic, and completes when the switch is back', async () => {
  await start(60_000);
  const [a, b] = [await create('a', 'client-1', 'web-1'), await create('b', 'client-2')];
  await leaves(third);
  const waiting = await deploy(a);
  expect((await server.finished((await deploy(b)).id)).state).toBe('COMPLETED');
  expect(await server.operation(waiting.id)).toMatchObject({ set_aside: { waiting_for: ['leaf-3'] } });
  // Its entries of before have a newer generation now than the one that it reported.
  const other = await server.api.call('deleteDeployment', { params: { chain_id: b } });
  expect((await server.finished(other.id)).state).toBe('COMPLETED');
  expect(await deployed()).toEqual([]);
  const told = [...server.switches.values()].flatMap((each) => each.told.flatMap(({ entries }) => entries));
  expect(told.filter(({ rule_id }) => rule_id?.startsWith('classify/a'))).toEqual([]);

  await third.connect();
  expect((await server.finished(waiting.id)).state).toBe('COMPLETED');
  expect(third.rules).toContain('classify/a.e1');
});

it('a switch keeps its new driver while the operation waits for another switch that is away', async () => {
  await start(4000);
  const a = await create('a', 'client-1', 'web-1');
  third.hold = true;
  const plan = await server.api.call('createPlan', {
    body: { chains: [{ chain_id: a }], switch_drivers: [{ switch: 'leaf-1', driver: 'p4' }] },
  });
  const { id } = await server.api.call('createDeployment', { body: { plan_id: plan.id } });
  const driverNow = async () => (await server.api.call('getInfrastructure')).switches[0]!.driver;
  await until('the driver is wanted', async () => (await driverNow()) === 'p4');
  await leaves(third);
  await server.switches.get('leaf-1')!.rebuild('p4');
  await becomes(id, 'waiting', ({ state }) => state === 'FAILED_TEMP');
  const { error } = await server.operation(id);
  expect(error?.detail).toBe('leaf-3: its agent is not connected');
  expect(await driverNow()).toBe('p4');
  third.hold = false;
  await third.connect();
  expect((await server.finished(id)).state).toBe('COMPLETED');
  expect(await driverNow()).toBe('p4');
});

it.each([
  ['although one that it does not need is away', ['web-2']],
  ['although another one that it needs is away', ['web-1', 'web-2']],
])('an operation fails with a switch that cannot do its part, %s', async (_, from) => {
  await start(1500);
  const [a, b] = [await create('a', ...from), await create('b', 'client-2')];
  fourth.trouble = 'the switch has no port p1';
  const failing = await deploy(a);
  await becomes(failing.id, 'waiting', ({ state }) => state === 'FAILED_TEMP');
  await leaves(third);
  const other = await deploy(b);
  const ended = await server.finished(failing.id);
  expect([ended.state, ended.error?.detail]).toEqual(['FAILED', expect.stringContaining('has no port p1')]);
  expect((await server.finished(other.id)).state).toBe('COMPLETED');
});

it('operations that are set aside leave room for others', async () => {
  await start(100);
  const waiting: string[] = [];
  const unaffected = await create('unaffected', 'client-2');
  await leaves(third);
  for (let i = 0; i < 20; i++) {
    const chain = await createTo(`10.0.9.${i}/32`, `waiting-${i}`, 'web-1');
    waiting.push((await deploy(chain)).id);
    const before = waiting.at(-2);
    if (before) await becomes(before, 'set aside', ({ set_aside }) => set_aside !== null);
  }
  expect((await server.finished((await deploy(unaffected)).id)).state).toBe('COMPLETED');
  const { set_aside } = await server.operation(waiting.at(-1)!);
  expect(set_aside?.waiting_for).toEqual(['leaf-3']);
});
