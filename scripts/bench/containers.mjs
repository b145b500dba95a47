import { mkdtempSync, rmSync } from 'node:fs';
import { step } from '../setup/progress.mjs';
import { imagesMissing, inImages } from './container-images.mjs';
import { cpuSeconds, median } from './measure.mjs';
import { end, graphOf, network, startEngine, startProgram } from './wires.mjs';

const ROUNDS = 3;
const SECONDS = 2;
const HOP = 1;
const NFS = {
  'l2-forwarder': {},
  'stateful-firewall': { max_flows: 4096 },
  nat: { external_addresses: ['198.18.0.1'] },
};
/** Frames in flight at once: one measures latency, many the rate. */
const LOADS = {
  latency: { window: 1, bytes: 60 },
  '60 B': { window: 256, bytes: 60 },
  '1514 B': { window: 256, bytes: 1514 },
};

/** The NF between its ports as the agent wires it: hop, queue, NF, hop. */
const graph = (nf, config) =>
  graphOf(
    ['near', 'far'],
    [
      [
        ['in', 'port_in', { port: 'near' }],
        ['untag', 'hop_in', { hops: [{ hop: HOP, gate: 0 }] }],
        ['queue', 'queue', {}],
        ['nf', nf, config],
        ['tag', 'hop_out', { hop: HOP }],
        ['out', 'port_out', { port: 'far' }],
      ],
    ],
  );

const SUBJECTS = {
  engine: (wires, directory, nf, config) => startEngine(wires, directory, graph(nf, config)),
  container: async (wires, directory, nf, config) => ({
    child: await startProgram(wires, directory, { near: 'near', far: 'far' }, nf, config),
  }),
};

/** One subject under every load: {load: {pps, p50_us, p99_us, CPU time in ns per packet}}. */
async function measure({ load: send }, child) {
  const result = {};
  for (const [name, { window, bytes }] of Object.entries(LOADS)) {
    const before = cpuSeconds(`/proc/${child.pid}`);
    const load = await send({ hop: HOP, window, bytes, seconds: SECONDS });
    const cpu_s = cpuSeconds(`/proc/${child.pid}`) - before;
    result[name] = { ...load, cpu_ns: (cpu_s * 1e9) / load.sent };
  }
  return result;
}

const figure = (name, value, unit, better, baseline = null) => ({ name, value, unit, better, baseline });

/** `of(subject, load, field)` is the median over the rounds of one NF. */
function figures(nf, of, cyclesPerSecond) {
  const cycles = (subject, load) => (of(subject, load, 'cpu_ns') * cyclesPerSecond) / 1e9;
  return [
    ...['60 B', '1514 B'].flatMap((load) => [
      figure(
        `${nf}, ${load}, container beside engine`,
        of('container', load, 'packets_per_s') / 1e3,
        'kpps',
        'higher',
        of('engine', load, 'packets_per_s') / 1e3,
      ),
      figure(
        `${nf}, ${load}, CPU of the container beside the engine's`,
        cycles('container', load),
        'cycles/packet',
        'lower',
        cycles('engine', load),
      ),
    ]),
    ...['p50_us', 'p99_us'].map((field) =>
      figure(
        `${nf}, 60 B, one at a time, ${field.replace('_us', '')}, container beside engine`,
        of('container', 'latency', field),
        'us',
        'lower',
        of('engine', 'latency', field),
      ),
    ),
    figure(
      `${nf}, frames lost`,
      Object.keys(LOADS).reduce((sum, load) => sum + of('container', load, 'lost'), 0),
      'frames',
      'lower',
    ),
  ];
}

/** NFs of Orrery over bare veth pairs: as the program of a container, and in an engine. */
async function onWires(note) {
  const directory = mkdtempSync('/tmp/orrery-container-');
  const wires = await network();
  const results = new Map();
  let cyclesPerSecond = 0;
  try {
    for (let round = 0; round < ROUNDS; round++)
      for (const [nf, config] of Object.entries(NFS))
        for (const [subject, start] of Object.entries(SUBJECTS)) {
          note(`${nf}, ${subject}, round ${round + 1} of ${ROUNDS}`);
          const started = await start(wires, directory, nf, config);
          cyclesPerSecond = started.cyclesPerSecond ?? cyclesPerSecond;
          const key = `${nf} ${subject}`;
          results.set(key, [...(results.get(key) ?? []), await measure(wires, started.child)]);
          await end(started.child);
        }
  } finally {
    await wires.end();
    rmSync(directory, { recursive: true });
  }
  return Object.keys(NFS).flatMap((nf) =>
    figures(
      nf,
      (subject, load, field) => median(results.get(`${nf} ${subject}`).map((r) => r[load][field])),
      cyclesPerSecond,
    ),
  );
}

export const bench = {
  title:
    'container NFs: an NF alone in its container beside the same NF in an engine, and images beside their programs without container',
  async run() {
    const missing = imagesMissing();
    if (missing) console.error(`images are not measured: ${missing}`);
    return [...(await step('Containers', onWires)), ...(missing ? [] : await step('Images in the twin', inImages))];
  },
};
