import { resolve } from 'node:path';
import { ROOT } from '../setup/paths.mjs';

const SECONDS = 4;
const ECHO = ['/usr/bin/python3', resolve(ROOT, 'twin/tools/round_trips.py')];
const ROUND_TRIPS = 1000;
/** Of a UDP payload in a frame of 64 bytes. */
const SMALL_BYTES = 22;

/** What one run of iperf3 from client to web does: its report, frames a second that arrive, CPU of the switch in us a frame. */
async function iperf3(network, { client, web }, options) {
  const server = await web.start('iperf3', ['--server', '--forceflush']);
  try {
    const arrived = () => ({ client: client.received(), web: web.received() });
    const before = { ...arrived(), cpu_s: network.switchSeconds(), ms: performance.now() };
    const words = ['--client', web.address, '--time', `${SECONDS}`, '--json', ...options];
    const report = JSON.parse(await client.run('iperf3', words));
    const after = arrived();
    const forwarded = after.client - before.client + after.web - before.web;
    return {
      report,
      delivered_per_s: (after.web - before.web) / SECONDS,
      forwarded_per_s: forwarded / SECONDS,
      cpu_us: ((network.switchSeconds() - before.cpu_s) * 1e6) / forwarded,
    };
  } finally {
    await server.end();
  }
}

/** One TCP flow: {mbps, packets_per_s in both directions, cpu_us a packet}. */
async function tcp(network, hosts) {
  const { report, forwarded_per_s, cpu_us } = await iperf3(network, hosts, []);
  return { mbps: report.end.sum_received.bits_per_second / 1e6, packets_per_s: forwarded_per_s, cpu_us };
}

/** Small datagrams as fast as the client can send: how many arrive in a second. */
async function flood(network, hosts) {
  const options = ['--udp', '--bitrate', '0', '--length', `${SMALL_BYTES}`];
  return (await iperf3(network, hosts, options)).delivered_per_s;
}

/** One datagram at a time, there and back: {p50_us, p99_us, lost}. */
async function roundTrips({ client, web }) {
  const [python, script] = ECHO;
  const echo = await web.start(python, ['-u', script, 'echo']);
  try {
    return JSON.parse(await client.run(python, [script, 'ask', web.address, '--count', `${ROUND_TRIPS}`]));
  } finally {
    await echo.end();
  }
}

/** Everything that traffic shows of a switch, in one round. */
export async function measureTraffic(network) {
  const hosts = await network.hosts();
  const trips = await roundTrips(hosts);
  return { ...(await tcp(network, hosts)), ...trips, small_per_s: await flood(network, hosts) };
}
