import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { images } from '../images.mjs';
import { onInterrupt } from '../interrupt.mjs';
import { ROOT } from '../setup/paths.mjs';
import { FabricNetwork } from './fabric-network.mjs';
import { measureTraffic } from './fabric-traffic.mjs';
import { median } from './measure.mjs';

const ROUNDS = 3;
/** Requests of which each takes a connection of its own. */
const REQUESTS = { to: 'web-1', count: 300, rate_per_s: 100 };

/** The same task as an NF of the engine, as a program of the server on veth pairs, and as that program in an image. */
const NFS = [
  { title: 'engine', nf: 'firewall', config: { rules: [{ action: 'deny', proto: 'udp', dst_port: '23' }] } },
  { title: 'nftables without container', nf: 'nftables-firewall' },
  { title: 'nftables, image', nf: 'nftables-container' },
  { title: 'Squid without container', nf: 'http-proxy' },
  { title: 'Squid, image', nf: 'squid-container' },
];
const WITHOUT_CONTAINER = {
  'nftables, image': 'nftables without container',
  'Squid, image': 'Squid without container',
};

/** Why images are left out; null: they are measured. */
export function imagesMissing() {
  const lacks = images().filter(({ nf }) => !existsSync(resolve(ROOT, `agents/build/images/${nf}.tar`)));
  return lacks.length > 0 ? 'run npm run build:images first' : null;
}

/** Processes below one, with their memory in MiB; what several share counts once. */
function memoryBelow(root) {
  const children = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = /^PPid:\s*(\d+)$/m.exec(text(pid, 'status'))?.[1];
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const below = (pid) => (children.get(pid) ?? []).flatMap((child) => [child, ...below(child)]);
  const mib = (pid) => Number(/^Pss:\s*(\d+) kB$/m.exec(text(pid, 'smaps_rollup'))?.[1] ?? 0) / 1024;
  return new Map(below(String(root)).map((pid) => [pid, mib(pid)]));
}

/** Empty if the process is gone. */
function text(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

/** One NF alone in a chain between two hosts. */
function measure(network, { nf, config = {} }) {
  const before = memoryBelow(network.serverPid);
  return network.withChain([{ nf, config }], async ({ operation, asked_ms, seconds }) => {
    const { first_packet_ms } = await network.firstPacket(operation);
    const added = [...memoryBelow(network.serverPid)].filter(([pid]) => !before.has(pid));
    const http = await network.requests(REQUESTS);
    const traffic = await measureTraffic(network);
    return {
      ...traffic,
      deploy_s: seconds,
      first_packet_s: (first_packet_ms - asked_ms) / 1000,
      added_mib: added.reduce((sum, [, mib]) => sum + mib, 0),
      http_p50_us: http.latency_p50_us,
      http_p99_us: http.latency_p99_us,
      http_failed: REQUESTS.count - http.received,
    };
  });
}

/** Title, field, unit, factor to the unit, better. */
const LINES = [
  ['deploy to first packet', 'first_packet_s', 's', 1, 'lower'],
  ['UDP 64 B, flood, delivered', 'small_per_s', 'kpps', 1e-3, 'higher'],
  ['TCP', 'mbps', 'Mbit/s', 1, 'higher'],
  ['round trip p50', 'p50_us', 'us', 1, 'lower'],
  ['round trip p99', 'p99_us', 'us', 1, 'lower'],
  ['round trips lost', 'lost', 'of 1000', 1, 'lower'],
  ['HTTP request p50', 'http_p50_us', 'us', 1, 'lower'],
  ['HTTP request p99', 'http_p99_us', 'us', 1, 'lower'],
  ['HTTP requests failed', 'http_failed', `of ${REQUESTS.count}`, 1, 'lower'],
  ['memory of the processes that it adds', 'added_mib', 'MiB', 1, 'lower'],
];

function figures(results) {
  const of = (title, field) => median(results.get(title).map((round) => round[field]));
  return LINES.flatMap(([name, field, unit, factor, better]) =>
    NFS.map(({ title }) => ({
      name: `${name}, ${title}`,
      value: factor * of(title, field),
      unit,
      better,
      baseline: title in WITHOUT_CONTAINER ? factor * of(WITHOUT_CONTAINER[title], field) : null,
    })),
  );
}

/** NFs of images beside the same programs without a container, and one of the engine: each in turn in every round. */
export async function inImages(note) {
  const network = new FabricNetwork();
  onInterrupt(() => network.stop());
  await network.start();
  const results = new Map(NFS.map(({ title }) => [title, []]));
  try {
    await network.use('ovs');
    await network.startProbes();
    for (let round = 0; round <= ROUNDS; round++)
      for (const subject of NFS) {
        note(`${subject.title}, ${round === 0 ? 'once before' : `round ${round} of ${ROUNDS}`}`);
        const result = await measure(network, subject);
        // The first time, Docker loads its images.
        if (round > 0) results.get(subject.title).push(result);
      }
  } finally {
    await network.stop();
  }
  return figures(results);
}
