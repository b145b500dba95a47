import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ChainDefinition, FLOW_SPACE, flowIdentity, Infrastructure } from '@orrery/contract';
import { expect, it, onTestFinished } from 'vitest';
import { eventsOf } from './testing/events.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { CLIENT, slowSite, WEB } from './testing/live-infrastructure.js';
import { LiveSite, siteMissing } from './testing/live-site.js';
import { echoAt, isWhole, sendFlows } from './testing/numbered-flows.js';
import { TestServer } from './testing/server.js';
import { buildTwin, insideHost, startTwinLab, twinLabMissing } from './testing/twin-lab.js';
import { until } from './testing/wait.js';

const missing = siteMissing();

const FLOWS = 64;
const SLOW = slowSite();
/** The rate needs two detectors that read streams, and one split in front of them. */
const CHAIN = ChainDefinition.parse({
  ...monitorChain('a'),
  traffic_class: { ...monitorChain('a').traffic_class, rate_bps: 1.1e8, packet_bytes: 64 },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'ids', kind: 'nf', nf: 'ids', config: { inspect: 'streams' } },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e1', from: 'in', to: 'ids' },
    { id: 'e2', from: 'ids', to: 'out' },
  ],
  slos: [],
});
/** Its estimate needs one instance. */
const LIGHT = ChainDefinition.parse({ ...CHAIN, traffic_class: { ...CHAIN.traffic_class, rate_bps: 1e6 } });
/** So long after its last packet a flow of a split in steps has ended. */
const IDLE_S = 4;
const KEEP_FLOWS = { capacity: 1000, idle_timeout_s: 60 };

/** Sends a datagram of each flow and counts the answers. */
const ASK = (from: number) => `
import socket
count = 0
for port in range(${from}, ${from} + ${FLOWS}):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
    s.bind(('', port)); s.connect(('${WEB.address}', 7)); s.send(b'%d' % port)
    count += s.recv(99) == b'%d' % port
print(count)
`;

it.skipIf(missing)(
  `an engine shares out the flows of the first NF for a switch that is not known to keep them, and while it is scaled${missing ? ` (${missing})` : ''}`,
  async () => {
    const server = await TestServer.start();
    onTestFinished(() => server.stop());
    await server.api.call('putInfrastructure', { body: SLOW });
    const site = new LiveSite(SLOW, server);
    onTestFinished(() => site.tearDown());
    await site.setUp();
    site.echo(WEB.id);
    for (const { id } of SLOW.servers) await site.startServerAgent(id);
    await until('the servers are known, and the switch is not', async () => {
      const { items } = await server.api.call('listNodes');
      return SLOW.servers.every(({ id }) => items.some((node) => node.id === id && node.state === 'connected'));
    });
    const { id: chain_id } = await server.api.call('createChain', { body: CHAIN });
    const splits = [{ node_id: 'ids', keep_flows: KEEP_FLOWS }];
    const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id, splits }] } });
    expect(plan.conflicts).toEqual([]);
    expect(plan.graph.nodes.filter(({ kind }) => kind === 'split')).toHaveLength(1);
    await site.startSwitchAgent();
    await site.connected();
    const accepted = await server.api.call('createDeployment', { body: { plan_id: plan.id } });
    const done = await server.finished(accepted.id);
    expect(done, `${done.error?.detail}\n${site.log.slice(-3000)}`).toMatchObject({ state: 'COMPLETED' });
    await until('packets through the chain', () => site.isAnswered(CLIENT.id, WEB.address), 20_000);

    const ask = (from: number) =>
      Number(
        execFileSync('ip', ['netns', 'exec', site.namespaceOf(CLIENT.id), '/usr/bin/python3', '-c', ASK(from)], {
          encoding: 'utf8',
        }),
      );
    const split = () => server.api.call('getSplit', { params: { chain_id, node_id: 'ids' } });
    expect(ask(6000)).toBe(FLOWS);
    await until('flows are at both', async () => {
      const { at, targets } = await split();
      expect(at).toBe('engine');
      return targets.every(({ flows }) => (flows ?? 0) > 0);
    });

    // One instance, of whose flows the switch knows nothing, becomes two, and one again (E2 3.4.4).
    const { id: undeployed } = await server.api.call('deleteDeployment', { params: { chain_id } });
    expect(await server.finished(undeployed)).toMatchObject({ state: 'COMPLETED' });
    await server.api.call('putChain', { params: { id: chain_id }, body: LIGHT });
    const one = [{ node_id: 'ids', instances: 1, staged: { idle_timeout_s: IDLE_S } }];
    const { id: again } = await server.api.call('createDeployment', { body: { chain_id, splits: one } });
    expect(await server.finished(again)).toMatchObject({ state: 'COMPLETED', error: null });
    await until('packets through the chain', () => site.isAnswered(CLIENT.id, WEB.address), 20_000);
    const scaled = async (instances: number) => {
      const { id } = await server.api.call('scaleDeployment', {
        params: { chain_id },
        body: { node_id: 'ids', instances },
      });
      expect(id).toBeDefined();
      const last = async () => (await server.api.call('listScalings')).items[0]!;
      while ((await last()).state === 'running') {
        expect(ask(6000)).toBe(FLOWS);
        await sleep(500);
      }
      return last();
    };
    expect(ask(6000)).toBe(FLOWS);
    expect(await scaled(2)).toMatchObject({ state: 'completed', steps: ['stage', 'settle', 'resize'], error: null });
    expect(ask(6000)).toBe(FLOWS);
    expect(ask(8000)).toBe(FLOWS);
    await until('new flows are at both', async () => {
      const { targets } = await split();
      return (targets[1]!.flows ?? 0) > FLOWS / 4;
    });
    const { at, targets, displaced_per_s } = await split();
    expect([at, displaced_per_s]).toEqual(['engine', 0]);
    // Those of before have stayed, also where the range of the other one holds them.
    expect(targets[0]!.flows).toBeGreaterThanOrEqual(FLOWS);
    expect(targets[0]!.exceptions).toBeGreaterThan(FLOWS / 4);
    expect(targets[1]!.flows).toBeLessThan(FLOWS);
    const gone = { state: 'completed', steps: ['drain', 'empty', 'resize'], left_flows: 0, error: null };
    expect(await scaled(1)).toMatchObject(gone);
    expect(ask(6000)).toBe(FLOWS);
  },
  150_000,
);

const missingP4 = twinLabMissing({ p4: true });
const addressOf = (id: string) => RACK.hosts.find((host) => host.id === id)!.addresses[0]!.address;
const [FROM, TO] = [addressOf('client-1'), addressOf('web-1')];
/** Source ports of flows that begin before the split, while it is handed over, and after that: so many from each. */
const [BEFORE, DURING, AFTER] = [6000, 7000, 8000];
const EACH = 40;
const HALF = FLOW_SPACE / 2;
const isInUpperHalf = (port: number) =>
  flowIdentity({ 'ip.src': FROM, 'ip.dst': TO, 'ip.proto': 17, 'port.src': port, 'port.dst': 7 }) >= HALF;
const OLD = Array.from({ length: EACH }, (_, n) => BEFORE + n);
/** Flows in progress when the new instance gets the upper half of the hash space. */
const EXCEPTIONS = OLD.filter(isInUpperHalf).length;
/** Of the table, beside the exceptions: for new ranges and hops while the old ones are still there. */
const ROOM = 16;

const rackOf = (table_entries: number) =>
  Infrastructure.parse({ ...RACK, switches: RACK.switches.map((one) => ({ ...one, driver: 'p4', table_entries })) });

it.skipIf(missingP4)(
  `a P4 switch takes over the split of a first NF: each flow stays at its instance, no packet is lost, and the table is not full${missingP4 ? ` (${missingP4})` : ''}`,
  async () => {
    // There is no room for an entry of each flow in progress.
    expect(EXCEPTIONS + ROOM).toBeLessThan(EACH);
    expect(EXCEPTIONS).toBeGreaterThan(EACH / 4);
    const server = await startTwinLab();
    onTestFinished(() => server.stop());
    await buildTwin(server, rackOf(4096));
    const { id: chain_id } = await server.api.call('createChain', { body: { ...monitorChain('a'), slos: [] } });
    const deploy = async (options: object = {}) => {
      const accepted = await server.api.call('createDeployment', { body: { chain_id, ...options } });
      const done = await server.finished(accepted.id);
      expect(done, done.error?.detail).toMatchObject({ state: 'COMPLETED' });
      return server.api.call('getPlan', { params: { id: done.plan_id! } });
    };
    const { entries } = (await deploy()).tables[0]!;
    await buildTwin(server, rackOf(entries + EXCEPTIONS + ROOM));
    const client = insideHost(server, 'client-1');
    await echoAt(insideHost(server, 'web-1'));
    await until('packets pass', async () => (await sendFlows(client, TO, 5000, 1).end()).every(isWhole));

    const instances = async () => (await server.api.call('listNfInstances')).items.map(({ id }) => id);
    /** Packets that an instance has had, by the source port of their flow. */
    const counted = async (id: string) => {
      const { state } = await server.api.call('getNfInstanceState', { params: { id }, query: { limit: 1000 } });
      const { flows } = state as { flows: { src_port: number; packets: number }[] };
      return new Map(flows.map(({ src_port, packets }) => [src_port, packets]));
    };
    const [old = ''] = await instances();
    const sendOn = async () => {
      const known = await counted(old);
      await until('each of the old flows sends on', async () => {
        const now = await counted(old);
        return OLD.every((port) => (now.get(port) ?? 0) > (known.get(port) ?? 0));
      });
    };
    const before = sendFlows(client, TO, BEFORE, EACH);
    await sendOn();
    const staged = { held: [{ lo: 0, hi: FLOW_SPACE }], exceptions: [], idle_timeout_s: 30 };
    await deploy({ splits: [{ node_id: 'monitor', staged }] });
    await sendOn();
    await deploy({ splits: [{ node_id: 'monitor', instances: 2, staged }] });
    const during = sendFlows(client, TO, DURING, EACH);
    const { data } = await until('it is handed over', async () => {
      const { items } = await server.api.call('listEvents', { query: { subject: chain_id, limit: 1000 } });
      return eventsOf(items, 'split.handed-over')[0];
    });
    expect(data.exceptions).toBe(EXCEPTIONS);
    const split = await server.api.call('getSplit', { params: { chain_id, node_id: 'monitor' } });
    expect(split).toMatchObject({ at: 'switch', targets: [{ instance_id: old, range: { lo: 0, hi: HALF } }, {}] });
    const first = await during.end();
    const after = sendFlows(client, TO, AFTER, EACH);
    await sendOn();
    const all = [...first, ...(await before.end()), ...(await after.end())];

    expect(all).toHaveLength(3 * EACH);
    expect(all.filter((flow) => !isWhole(flow))).toEqual([]);
    const counts = await Promise.all((await instances()).map(async (id) => [id === old, await counted(id)] as const));
    for (const { port, sent } of all) {
      const isAtOld = OLD.includes(port) || !isInUpperHalf(port);
      const found = counts.flatMap(([isOld, flows]) => (flows.has(port) ? [[isOld, flows.get(port)]] : []));
      expect([port, found]).toEqual([port, [[isAtOld, sent]]]);
    }
    const { plan_id } = await server.operation(data.operation_id);
    const [table] = (await server.api.call('getPlan', { params: { id: plan_id! } })).tables;
    expect(table!.entries).toBeLessThanOrEqual(entries + EXCEPTIONS + 4);
    expect(table!.most_entries).toBeLessThanOrEqual(table!.available);
  },
  120_000,
);
