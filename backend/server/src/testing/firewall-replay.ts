import { interfaceCounts } from './interface-counts.js';
import type { TestServer } from './server.js';
import { until } from './wait.js';

/** What NF `fw` of chain `c`, and the monitor `mon` behind it, count of a capture. */
export interface FirewallCounts {
  in: number;
  out: number;
  /** That went in. */
  bytes: number;
  denied: number;
  /** For whatever reason. */
  dropped: number;
  monitored: number;
}

interface Replay {
  readonly pcap_id: string;
  readonly node: string;
  readonly frames: number;
  readonly rate_pps: number;
  readonly limit_ms?: number;
}

/** Replays a capture once from a host; resolves when every frame of it is counted. */
export async function replayThroughFirewall(
  server: TestServer,
  { pcap_id, node, frames, rate_pps, limit_ms }: Replay,
): Promise<FirewallCounts> {
  const before = await firewallCounts(server);
  const config = { pcap_id, rate_pps };
  await server.api.call('createApplication', { body: { id: 'replay', kind: 'pcap-replay', node, config } });
  const params = { id: 'replay' };
  const status = async () => (await server.api.call('getApplication', { params })).status;
  await until('the replay ends', async () => (await status()).state === 'completed', limit_ms);
  const errors = (await status()).metrics.find(({ name }) => name === 'errors')?.value;
  await server.api.request('deleteApplication', { params });
  const since = async () => {
    const now = await firewallCounts(server);
    const names = Object.keys(now) as (keyof FirewallCounts)[];
    return Object.fromEntries(names.map((name) => [name, now[name] - before[name]])) as unknown as FirewallCounts;
  };
  const isCounted = async () => {
    const { in: taken, out, dropped, monitored } = await since();
    return taken >= frames && out + dropped >= frames && monitored >= out;
  };
  await until('every frame is counted', isCounted, limit_ms).catch(async (error: Error) => {
    const told = `${JSON.stringify(await since())}, ${errors} not sent`;
    throw new Error(`${error.message}: ${told}; received/sent: ${interfaceCounts(server)}`);
  });
  return since();
}

export async function firewallCounts(server: TestServer): Promise<FirewallCounts> {
  const { items } = await server.api.call('listCounters', { query: { limit: 100 } });
  const of = (nf: string) => items.filter(({ instance_id }) => instance_id.startsWith(`c.${nf}.`));
  const sum = (nf: string, figure: (one: (typeof items)[number]) => number) =>
    of(nf).reduce((all, one) => all + figure(one), 0);
  return {
    in: sum('fw', ({ packets_in }) => packets_in),
    out: sum('fw', ({ packets_out }) => packets_out),
    bytes: sum('fw', ({ bytes_in }) => bytes_in),
    denied: sum('fw', ({ drops }) => drops.denied ?? 0),
    dropped: sum('fw', ({ drops }) => Object.values(drops).reduce((all, count) => all + count, 0)),
    monitored: sum('mon', ({ packets_in }) => packets_in),
  };
}
