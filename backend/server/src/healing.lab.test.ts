import { Infrastructure } from '@orrery/contract';
import { expect, it, onTestFinished } from 'vitest';
import { eventsOf } from './testing/events.js';
import { monitorChain, RACK, withSwitches } from './testing/fixtures.js';
import type { TestServer } from './testing/server.js';
import { buildTwin, isBuilt, startTwinLab, twinLabMissing, twinProcesses } from './testing/twin-lab.js';
import { until } from './testing/wait.js';

const missing = twinLabMissing();
const missingP4 = twinLabMissing({ p4: true });
const WAIT_MS = 30_000;

/** Deploys a monitor for what client-1 sends to an echo; resolves with the id of its chain. */
async function deploy(server: TestServer): Promise<string> {
  const { id: chain_id } = await server.api.call('createChain', { body: { ...monitorChain('a'), slos: [] } });
  const accepted = await server.api.call('createDeployment', { body: { chain_id } });
  expect(await server.finished(accepted.id)).toMatchObject({ state: 'COMPLETED', error: null });
  await server.api.call('createApplication', {
    body: { id: 'echo', kind: 'probe-server', node: 'web-1', config: {} },
  });
  return chain_id;
}

let probes = 0;

/** Whether probes of a second all come back, and the NF counts them. */
async function arePassed(server: TestServer): Promise<boolean> {
  const id = `probe-${probes++}`;
  const config = { to: 'web-1', rate_per_s: 50, duration_s: 1 };
  await server.api.call('createApplication', { body: { id, kind: 'probe', node: 'client-1', config } });
  const status = async () => (await server.api.call('getApplication', { params: { id } })).status;
  await until('the probes end', async () => (await status()).state === 'completed');
  const { metrics } = await status();
  const metric = (name: string) => metrics.find((it) => it.name === name)?.value ?? 0;
  await server.api.request('deleteApplication', { params: { id } });
  const { items } = await server.api.call('listCounters', { query: { limit: 100 } });
  return metric('sent') > 5 && metric('received') === metric('sent') && items[0]!.packets_in > 5;
}

it.skipIf(missing)(
  `a chain on a server that is killed runs elsewhere, with its packets, and goes back only where the policy says so${missing ? ` (${missing})` : ''}`,
  async () => {
    const server = await startTwinLab();
    onTestFinished(() => server.stop());
    await buildTwin(server, RACK);
    // Longer than a change takes, so that it is over before its server is used again.
    const follow = (policy: 'never' | 'auto') =>
      server.api.call('putHealingPolicy', {
        body: { grace_s: 0.2, stable_s: 6, max_changes: 100, return: policy },
      });
    await follow('never');
    await deploy(server);

    const place = async () => (await server.api.call('listNfInstances')).items[0]?.server;
    /** Its agent and engine start again within a second: it is away until its link is put back, which the answer does. */
    const kill = async (target: string) => {
      const { links } = await server.api.call('getInfrastructure');
      const link = links.find(({ a, b }) => a.node === target || b.node === target)!;
      const cut = await server.api.call('injectFault', { body: { kind: 'link-down', target: link.id } });
      for (const kind of ['engine-kill', 'agent-kill'] as const)
        await server.api.call('injectFault', { body: { kind, target } });
      return () => server.api.call('clearFault', { params: { id: cut.id } });
    };
    const isServing = async () => (await server.api.call('listOutOfService')).total === 0;
    const events = async (prefix: 'healing.moved' | 'healing.back' | 'healing.returned') =>
      eventsOf((await server.api.call('listEvents', { query: { limit: 1000 } })).items, prefix).map(
        ({ subject }) => subject,
      );
    const pass = () => arePassed(server);
    await until('packets pass', pass, WAIT_MS);

    const first = (await place())!;
    const revive = await kill(first);
    await until('it runs elsewhere', async () => (await events('healing.moved')).includes(first), WAIT_MS);
    const second = (await place())!;
    expect(second).not.toBe(first);
    await revive();
    await until('packets pass again', pass, WAIT_MS);
    await until('the server is back', async () => (await events('healing.back')).includes(first), WAIT_MS);
    await until('nothing is left to do for it', isServing);
    expect(await place()).toBe(second);
    expect(await pass()).toBe(true);

    await follow('auto');
    const reviveSecond = await kill(second);
    await until('it runs elsewhere', async () => (await events('healing.moved')).includes(second), WAIT_MS);
    await reviveSecond();
    await until('it is back', async () => (await events('healing.returned')).includes(second), WAIT_MS);
    expect(await place()).toBe(second);
    await until('nothing is left to do', isServing);
    await until('packets pass again', pass, WAIT_MS);
  },
  120_000,
);

it.skipIf(missingP4)(
  `packets go around a switch that hangs, and take it again when it goes on${missingP4 ? ` (${missingP4})` : ''}`,
  async () => {
    // Open vSwitch is not started anew when it hangs, and runs one switch here.
    const site = withSwitches('edge', 'spine', 'spare');
    const switches = site.switches.map((one) => ({ ...one, driver: one.id === 'spine' ? 'ovs' : 'p4' }));
    const infrastructure = Infrastructure.parse({ ...site, switches });
    const server = await startTwinLab();
    onTestFinished(() => server.stop());
    await buildTwin(server, infrastructure);
    const chain_id = await deploy(server);
    const pass = () => arePassed(server);
    /** Ports by which the edge sends to other switches. */
    const ways = async () => {
      const query = { limit: 1000 };
      const { items } = await server.api.call('listSwitchEntries', { params: { id: 'edge' }, query });
      const ports = items.flatMap(({ actions }) => actions.flatMap((it) => (it.do === 'output' ? it.port : [])));
      return ['to-spine', 'to-spare'].filter((port) => ports.includes(port)).join();
    };
    await until('packets pass', pass, WAIT_MS);
    expect(await ways()).toBe('to-spine');

    const [hung] = twinProcesses(server, 'ovs-vswitchd');
    const goOn = () => process.kill(hung!.pid, 'SIGCONT');
    process.kill(hung!.pid, 'SIGSTOP');
    onTestFinished(() => void goOn());
    const config = { to: 'web-1', rate_per_s: 50, duration_s: 0 };
    await server.api.call('createApplication', { body: { id: 'lost', kind: 'probe', node: 'client-1', config } });
    const deployment = () => server.api.call('getDeployment', { params: { chain_id } });
    await until('its chain says so', async () => (await deployment()).reason?.includes('spine'), WAIT_MS);
    await until('packets go around it', async () => (await ways()) === 'to-spare', WAIT_MS);
    await until('packets pass again', pass, WAIT_MS);
    await until('the chain runs without it', async () => (await deployment()).state === 'running', WAIT_MS);
    expect(await server.api.call('getSwitch', { params: { id: 'spine' } })).toMatchObject({
      observed: { state: 'failed' },
    });

    goOn();
    await until('it is used again', async () => (await ways()) === 'to-spine', WAIT_MS);
    await isBuilt(server, infrastructure);
    await until('packets pass over it', pass, WAIT_MS);
    await until('the chain runs', async () => (await deployment()).state === 'running', WAIT_MS);
  },
  120_000,
);
