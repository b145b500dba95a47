import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../setup/paths.mjs';
import { step } from '../setup/progress.mjs';
import { cpuSeconds, median } from './measure.mjs';
import { end, graphOf, network, startEngine, startProgram } from './wires.mjs';

const ENGINE_BENCH = resolve(ROOT, 'agents/build/engine/orrery-engine-bench');
const ROUNDS = 5;
const SECONDS = 2;
const HOP = 1;
const NF = 'l2-forwarder';

const enter = [
  ['in', 'port_in', { port: 'near' }],
  ['untag', 'hop_in', { hops: [{ hop: HOP, gate: 0 }] }],
  ['queue', 'queue', {}],
];
const leave = [
  ['tag', 'hop_out', { hop: HOP }],
  ['out', 'port_out', { port: 'far' }],
];

/** Interfaces of a program's two ends: the engine's, and the program's own. */
const ends = (n) => ({
  engine: { near: `e${n}-near`, far: `e${n}-far` },
  program: { near: `p${n}-near`, far: `p${n}-far` },
});
const PROGRAMS = [ends(1), ends(2)];

/** Into the next program and out of it again, as an engine hands packets to legacy NFs. */
function throughPrograms() {
  const [first, second] = PROGRAMS.map(({ engine }) => engine);
  return graphOf(
    ['near', 'far', ...Object.values(first), ...Object.values(second)],
    [
      [...enter, ['tag1', 'hop_out', { hop: HOP }], ['out1', 'port_out', { port: first.near }]],
      [
        ['in1', 'port_in', { port: first.far }],
        ['untag1', 'hop_in', { hops: [{ hop: HOP, gate: 0 }] }],
        ['tag2', 'hop_out', { hop: HOP }],
        ['out2', 'port_out', { port: second.near }],
      ],
      [['in2', 'port_in', { port: second.far }], ['untag2', 'hop_in', { hops: [{ hop: HOP, gate: 0 }] }], ...leave],
    ],
  );
}

/** What runs between the wires: processes, and the clock of the engine's cycles. */
const PATHS = {
  async empty(wires, directory) {
    const { child, cyclesPerSecond } = await startEngine(
      wires,
      directory,
      graphOf(['near', 'far'], [[...enter, ...leave]]),
    );
    return { children: [child], cyclesPerSecond };
  },
  async native(wires, directory) {
    const nfs = [1, 2].map((n) => [`nf${n}`, NF, {}]);
    const { child, cyclesPerSecond } = await startEngine(
      wires,
      directory,
      graphOf(['near', 'far'], [[...enter, ...nfs, ...leave]]),
    );
    return { children: [child], cyclesPerSecond };
  },
  async legacy(wires, directory) {
    const { child, cyclesPerSecond } = await startEngine(wires, directory, throughPrograms());
    const programs = [];
    for (const { program } of PROGRAMS) programs.push(await startProgram(wires, directory, program, NF, {}));
    return { children: [child, ...programs], cyclesPerSecond };
  },
};

const cpuOf = (children) => children.reduce((sum, { pid }) => sum + cpuSeconds(`/proc/${pid}`), 0);

/** A path one packet at a time, and loaded: {p50_us, cycles of a packet in all its processes, lost}. */
async function measure(wires, { children, cyclesPerSecond }, bytes) {
  const alone = await wires.load({ hop: HOP, window: 1, bytes, seconds: SECONDS });
  const before = cpuOf(children);
  const loaded = await wires.load({ hop: HOP, window: 256, bytes, seconds: SECONDS });
  return {
    p50_us: alone.p50_us,
    cycles: ((cpuOf(children) - before) * cyclesPerSecond) / loaded.sent,
    lost: alone.lost + loaded.lost,
  };
}

/** {`path bytes`: measurements by round}, of all paths in turn. */
async function overWires(note) {
  const directory = mkdtempSync('/tmp/orrery-native-');
  const pairs = PROGRAMS.flatMap(({ engine, program }) => [
    [engine.near, program.near],
    [engine.far, program.far],
  ]);
  const wires = await network(pairs);
  const results = new Map();
  try {
    for (let round = 0; round < ROUNDS; round++)
      for (const [name, start] of Object.entries(PATHS)) {
        note(`${name}, round ${round + 1} of ${ROUNDS}`);
        const path = await start(wires, directory);
        try {
          for (const bytes of [64, 1500]) {
            const key = `${name} ${bytes}`;
            results.set(key, [...(results.get(key) ?? []), await measure(wires, path, bytes)]);
          }
        } finally {
          for (const child of path.children) await end(child);
        }
      }
  } finally {
    await wires.end();
    rmSync(directory, { recursive: true });
  }
  return (path, bytes, field) => median(results.get(`${path} ${bytes}`).map((it) => it[field]));
}

/** {comparison, form, bytes, cycles} of what NFs tell each other in one engine. */
async function inEngine() {
  const { stdout } = await promisify(execFile)(ENGINE_BENCH, ['--native-api']);
  const results = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  return (comparison, form, bytes) =>
    results.find((it) => it.comparison === comparison && it.form === form && it.bytes === bytes).cycles;
}

const cycles = (name, value, baseline, more = {}) => ({
  name,
  value,
  unit: 'cycles/packet',
  better: 'lower',
  baseline,
  ...more,
});

/** Two NFs one behind the other, without the wires that bring packets to both kinds. */
function paths(wired, cyclesOf) {
  return [64, 1500].flatMap((bytes) => [
    cycles(
      `NF to NF, ${bytes} B, raw sockets beside native`,
      wired('legacy', bytes, 'cycles') - wired('empty', bytes, 'cycles'),
      cyclesOf('path', 'native', bytes),
    ),
    {
      name: `NF to NF, ${bytes} B, wire to wire, p50, raw sockets beside native`,
      value: wired('legacy', bytes, 'p50_us'),
      unit: 'us',
      better: 'lower',
      baseline: wired('native', bytes, 'p50_us'),
    },
    {
      name: `NF to NF, ${bytes} B, frames lost`,
      value: ['legacy', 'native'].reduce((sum, path) => sum + wired(path, bytes, 'lost'), 0),
      unit: 'frames',
      better: 'lower',
    },
  ]);
}

function messages(of) {
  return [
    ...[64, 1500].map((bytes) =>
      cycles(`match, ${bytes} B, metadata beside header`, of('match', 'metadata', bytes), of('match', 'header', bytes)),
    ),
    ...[128, 512, 1500].map((bytes) => {
      const each = of('streams', 'each', bytes);
      return cycles(`IDS and SQLi, ${bytes} B, one reassembly beside two`, of('streams', 'once', bytes), each, {
        bar: each,
      });
    }),
    cycles('URL, 512 B, second parser beside metadata', of('url', 'second parser', 512), of('url', 'metadata', 512)),
  ];
}

export const bench = {
  title: 'native NFs beside legacy ones, metadata beside headers and parsers, streams reassembled once (E2 3.6.1)',
  async run() {
    const wired = await step('NF to NF', overWires);
    const of = await step('metadata and streams', inEngine);
    return [...paths(wired, of), ...messages(of)];
  },
};
