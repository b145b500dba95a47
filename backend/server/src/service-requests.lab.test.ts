import { execFileSync } from 'node:child_process';
import { ServicePoolDefinition, type ServiceRequestSpec } from '@orrery/contract';
import { expect, it, onTestFinished } from 'vitest';
import { CLIENT, liveInfrastructure, WEB } from './testing/live-infrastructure.js';
import { LiveSite, siteMissing } from './testing/live-site.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const missing = siteMissing();

/** One core each, so slow that the instances of the pool need both. */
const SITE = liveInfrastructure(['edge-1', 'edge-2'], [CLIENT, WEB]);
const SLOW = { ...SITE, servers: SITE.servers.map((server) => ({ ...server, ghz: 0.05 })) };
/** Of a detector: half of what a core carries. */
const RATE = 110_000_000;
const POOL = ServicePoolDefinition.parse({
  name: 'pool',
  title: 'Shared NFs',
  hosts: [CLIENT.id],
  nfs: [
    { nf: 'monitor', rate_bps: 1.5 * RATE },
    { nf: 'ids', count: 2, rate_bps: RATE },
  ],
  packet_bytes: 64,
});

/** Packets from one source port; two of them do not fit into one detector. */
function asked(port: number, functions: string[]): ServiceRequestSpec {
  const match = [{ attribute: 'port.src', op: 'is' as const, value: port }];
  return { pool: 'pool', from: [CLIENT.id], match, functions, latency_us: 1e6, throughput_bps: 0.6 * RATE };
}

/** Sends datagrams from a port and counts the answers. */
const ASK = (port: number, count: number) => `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
s.bind(('', ${port})); s.connect(('${WEB.address}', 7))
answers = 0
for n in range(${count}):
    s.send(b'%d' % n)
    answers += s.recv(99) == b'%d' % n
print(answers)
`;

it.skipIf(missing)(
  `packets of two requests share an instance, go their ways and no other, and take none when released${missing ? ` (${missing})` : ''}`,
  async () => {
    const server = await TestServer.start();
    onTestFinished(() => server.stop());
    await server.api.call('putInfrastructure', { body: SLOW });
    const site = new LiveSite(SLOW, server);
    onTestFinished(() => site.tearDown());
    await site.setUp();
    site.echo(WEB.id);
    await site.enrol();
    await server.api.call('createServicePool', { body: POOL });
    const pool = () => server.api.call('getServicePool', { params: { id: 'pool' } });
    await until(
      'the pool is ready',
      async () => {
        const { state, detail } = await pool();
        if (state === 'failed') throw new Error(`${detail}\n${site.log.slice(-2000)}`);
        return state === 'ready';
      },
      60_000,
    );
    expect(new Set((await pool()).instances.map(({ place }) => place)).size).toBe(2);
    const request = async (spec: ServiceRequestSpec) => {
      const { id } = await server.api.call('createServiceRequest', { body: spec });
      return until(
        'it is active',
        async () => {
          const now = await server.api.call('getServiceRequest', { params: { id } });
          expect(now.why).toBeNull();
          return now.state === 'active' ? now : null;
        },
        30_000,
      );
    };
    const both = await request(asked(6001, ['monitor', 'ids']));
    const [, first] = both.way!.stages.map(({ instance }) => instance);
    const other = await request(asked(6002, ['monitor', 'ids']));
    const [shared, second] = other.way!.stages.map(({ instance }) => instance);
    expect(shared).toBe('monitor-1');
    expect([first, second].sort()).toEqual(['ids-1', 'ids-2']);

    const ask = (port: number, count: number) =>
      Number(
        execFileSync('ip', ['netns', 'exec', site.namespaceOf(CLIENT.id), '/usr/bin/python3', '-c', ASK(port, count)], {
          encoding: 'utf8',
        }),
      );
    const counted = async () => {
      const { items } = await server.api.call('listCounters', { query: { limit: 100 } });
      const of = (node: string) =>
        items.find(({ instance_id }) => instance_id.startsWith(`pool.${node}.`))?.packets_in ?? 0;
      return [of('monitor-1'), of(first!), of(second!)];
    };
    const become = (counts: number[]) =>
      until(`packets are ${counts}`, async () => JSON.stringify(await counted()) === JSON.stringify(counts)).catch(
        async () => expect(await counted()).toEqual(counts),
      );
    expect(ask(6001, 30)).toBe(30);
    await become([30, 30, 0]);
    expect(ask(6002, 20)).toBe(20);
    await become([50, 30, 20]);
    expect(ask(6003, 10)).toBe(10);
    const held = site.steering().flows;
    await server.api.call('deleteServiceRequest', { params: { id: both.id } });
    await until('its entries are gone from the switch', () => site.steering().flows === held / 2, 30_000);
    expect(ask(6001, 10)).toBe(10);
    expect(ask(6002, 5)).toBe(5);
    await become([55, 30, 25]);
  },
  180_000,
);
