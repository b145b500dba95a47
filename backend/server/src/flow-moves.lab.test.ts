import { ChainDefinition, FLOW_SPACE } from '@orrery/contract';
import { expect, it, onTestFinished } from 'vitest';
import { monitorChain } from './testing/fixtures.js';
import { CLIENT, slowSite, WEB } from './testing/live-infrastructure.js';
import { LiveSite, siteMissing } from './testing/live-site.js';
import { sendFlows } from './testing/numbered-flows.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const missing = siteMissing();

const FLOWS = 24;
const FIRST_PORT = 6000;

const SLOW = slowSite();
/** The rate needs two monitors: the engine of the forwarder splits their flows. */
const CHAIN = ChainDefinition.parse({
  ...monitorChain('a'),
  traffic_class: { ...monitorChain('a').traffic_class, rate_bps: 9e8, packet_bytes: 64 },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'l2', kind: 'nf', nf: 'l2-forwarder' },
    { id: 'monitor', kind: 'nf', nf: 'monitor' },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e1', from: 'in', to: 'l2' },
    { id: 'e2', from: 'l2', to: 'monitor' },
    { id: 'e3', from: 'monitor', to: 'out' },
  ],
  slos: [],
});

it.skipIf(missing)(
  `flows go to a monitor on another server by one call, while each sends on: no packet is lost, late behind a later one or counted at both${missing ? ` (${missing})` : ''}`,
  async () => {
    const server = await TestServer.start();
    onTestFinished(() => server.stop());
    await server.api.call('putInfrastructure', { body: SLOW });
    const site = new LiveSite(SLOW, server);
    onTestFinished(() => site.tearDown());
    await site.setUp();
    site.echo(WEB.id);
    await site.enrol();
    const { id: chain_id } = await server.api.call('createChain', { body: CHAIN });
    const accepted = await server.api.call('createDeployment', { body: { chain_id } });
    const done = await server.finished(accepted.id);
    expect(done, `${done.error?.detail}\n${site.log.slice(-3000)}`).toMatchObject({ state: 'COMPLETED' });
    await until('packets through the chain', () => site.isAnswered(CLIENT.id, WEB.address), 20_000);
    const split = await server.api.call('getSplit', { params: { chain_id, node_id: 'monitor' } });
    expect(split).toMatchObject({ at: 'engine', targets: [{}, {}] });
    const [from, to] = split.targets.map(({ instance_id }) => instance_id) as [string, string];
    const portsAt = async (id: string) => {
      const { state } = await server.api.call('getNfInstanceState', { params: { id }, query: { limit: 100 } });
      const { flows } = state as { flows: { src_port: number; packets: number }[] };
      return new Map(flows.map(({ src_port, packets }) => [src_port, packets]));
    };

    const client = ['ip', 'netns', 'exec', site.namespaceOf(CLIENT.id)];
    const sender = sendFlows(client, WEB.address, FIRST_PORT, FLOWS);
    const own = (ports: Iterable<number>) =>
      [...ports].filter((port) => port >= FIRST_PORT && port < FIRST_PORT + FLOWS);
    await until('every flow is at one of the monitors', async () => {
      const both = await Promise.all([from, to].map(portsAt));
      return own(both.flatMap((flows) => [...flows.keys()])).length === FLOWS;
    });
    const chosen = own((await portsAt(from)).keys());
    expect(chosen.length).toBeGreaterThan(0);

    const move = await server.api.call('migrateNfInstance', { params: { id: from }, body: { to } });
    const moved = await server.finished(move.id);
    expect(moved, JSON.stringify(moved)).toMatchObject({ state: 'COMPLETED', error: null });
    expect(moved.migration!.steered).toBeGreaterThanOrEqual(chosen.length);

    const before = await portsAt(to);
    await until('they send on', async () => {
      const now = await portsAt(to);
      return chosen.every((port) => (now.get(port) ?? 0) > (before.get(port) ?? 0));
    });
    const flows = await sender.end();
    for (const { port, sent, answers } of flows)
      expect([port, answers]).toEqual([port, Array.from({ length: sent }, (_, n) => n)]);
    // Each packet is counted once, where its flow is now.
    expect(own((await portsAt(from)).keys())).toEqual([]);
    const counts = await portsAt(to);
    for (const { port, sent } of flows) expect([port, counts.get(port)]).toEqual([port, sent]);

    // The ranges are as they were: only these flows are exceptions.
    const after = await server.api.call('getSplit', { params: { chain_id, node_id: 'monitor' } });
    expect(after.targets.map(({ range }) => range)).toEqual(split.targets.map(({ range }) => range));
    expect(after.targets.at(-1)!.range.hi).toBe(FLOW_SPACE);
  },
  120_000,
);
