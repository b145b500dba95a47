import { execFileSync } from 'node:child_process';
import { ChainDefinition } from '@orrery/contract';
import { expect, it, onTestFinished } from 'vitest';
import { monitorChain } from './testing/fixtures.js';
import { CLIENT, slowSite, WEB } from './testing/live-infrastructure.js';
import { LiveSite, siteMissing } from './testing/live-site.js';
import { TestServer } from './testing/server.js';
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
  `an engine shares out the flows of the first NF for a switch that is not known to keep them${missing ? ` (${missing})` : ''}`,
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
  },
  120_000,
);
