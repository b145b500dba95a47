import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { onInterrupt } from '../interrupt.mjs';
import { ROOT } from '../setup/paths.mjs';
import { SetupError, step } from '../setup/progress.mjs';
import { cpuSeconds, median } from './measure.mjs';

const ENGINE_BENCH = resolve(ROOT, 'agents/build/engine/orrery-engine-bench');
const ROUNDS = 3;
const SECONDS = 2;
const HUGEPAGES = '/proc/sys/vm/nr_hugepages';
const PAGES_WANTED = 512;

/** Of what testpmd forwards. */
const LEAST_OF_TESTPMD = { 'l2 null->null': 0.9, 'l2 ring->ring': 0.5 };
const LEAST_OF_FOUR_NFS = 10;
const FOUR_NFS = 'chain of 4 NFs';
/** Of the sequence: what a parallel form may take, where its critical path allows. */
const MOST_LATENCY = 0.7;
const MOST_CYCLES = 1.07;

/**
 * Millions of packets per second of CPU time that DPDK's own testpmd forwards on one core between two virtual ports.
 */
async function testpmd(vdevs, memory, extra) {
  const name = `orrery-bench-${process.pid}`;
  const args = ['-l', '0,1', ...memory, '--no-pci', '--no-telemetry', ...vdevs.flatMap((v) => ['--vdev', v])];
  const child = spawn('dpdk-testpmd', [
    ...args,
    ...(memory.includes('--in-memory') ? [] : ['--file-prefix', name]),
    '--',
    '--auto-start',
    '--forward-mode=macswap',
    '--nb-cores=1',
    '--burst=32',
    '--total-num-mbufs=16384',
    '--stats-period=1',
    ...extra,
  ]);
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  const ended = new Promise((done) => child.on('close', done));
  const started = () => /TX-packets: (\d+)/.test(output);
  for (let tries = 0; !started() && child.exitCode === null && tries < 200; tries++) await sleep(50);
  await sleep(SECONDS * 1000);
  const worker = readdirSync(`/proc/${child.pid}/task`)
    .map((tid) => `/proc/${child.pid}/task/${tid}`)
    .find((task) => /worker/.test(readFileSync(`${task}/comm`, 'utf8')));
  child.kill('SIGINT');
  // It keeps forwarding and counting for up to a second: the matching CPU time is the last reading.
  const used = () => {
    try {
      return cpuSeconds(worker);
    } catch {
      return null;
    }
  };
  let cpu = 0;
  for (let now = worker ? used() : null; now !== null; now = used()) {
    cpu = now;
    await sleep(5);
  }
  await ended;
  const total = /Accumulated forward statistics for all ports[\s\S]*?TX-packets: (\d+)/.exec(output);
  if (!total || cpu === 0) throw new SetupError(`dpdk-testpmd did not forward:\n${output.slice(-1500)}`);
  return Number(total[1]) / cpu / 1e6;
}

const BASELINES = {
  'l2 null->null': (memory) => testpmd(['net_null0,size=60', 'net_null1,size=60'], memory, []),
  'l2 ring->ring': (memory) => testpmd(['net_ring0', 'net_ring1'], memory, ['--tx-first']),
};

/** What a program prints, one JSON object a line. */
async function linesOf(command, args) {
  const { stdout } = await promisify(execFile)(command, args, { maxBuffer: 1 << 22 });
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}

/** Reserves hugepages for `work` and releases them; `null` if the machine has none. */
async function withHugepages(work) {
  if (!existsSync(HUGEPAGES)) return null;
  const before = readFileSync(HUGEPAGES, 'utf8').trim();
  const giveBack = () => writeFileSync(HUGEPAGES, before);
  try {
    writeFileSync(HUGEPAGES, String(Number(before) + PAGES_WANTED));
  } catch {
    return null;
  }
  onInterrupt(async () => giveBack());
  try {
    return Number(readFileSync(HUGEPAGES, 'utf8')) < Number(before) + PAGES_WANTED ? null : await work();
  } finally {
    giveBack();
  }
}

const PLAIN = { label: 'no hugepages', ours: '--no-huge', testpmd: ['--no-huge', '-m', '256'] };
const HUGE = { label: 'hugepages', ours: '--hugepages', testpmd: ['--in-memory', '-m', '256'] };

/** Our rates and testpmd's with each kind of memory, in turn, so that all see the same state of the machine. */
async function rates(memories) {
  const values = new Map();
  const baselines = new Map();
  const add = (map, key, value) => map.set(key, [...(map.get(key) ?? []), value]);
  for (const memory of Array(ROUNDS).fill(memories).flat()) {
    await step(memory.label, async (note) => {
      for (const [name, run] of Object.entries(BASELINES)) {
        const key = `${name}, ${memory.label}`;
        note(name);
        const [own] = await linesOf(ENGINE_BENCH, [
          '--json',
          ...['--seconds', String(SECONDS), '--only', name],
          memory.ours,
        ]);
        add(values, key, own.value);
        note('testpmd');
        add(baselines, key, await run(memory.testpmd));
      }
    });
  }
  return memories.flatMap(({ label }) =>
    Object.entries(LEAST_OF_TESTPMD).map(([name, least]) => {
      const key = `${name}, ${label}`;
      const baseline = median(baselines.get(key));
      // testpmd without hugepages is no measure: every packet of its pool begins in a page of its own.
      const bar = label === HUGE.label ? least * baseline : null;
      return { name: key, value: median(values.get(key)), unit: 'Mpps/core', better: 'higher', bar, baseline };
    }),
  );
}

/** Each NF and a chain of four at 60 B: Mpps of a core with source and port, and cycles of the NF alone. */
async function nfs(memory, cycles) {
  const figures = await step('NFs', () =>
    linesOf(ENGINE_BENCH, ['--json', '--seconds', String(SECONDS / 2), memory.ours]),
  );
  const rate = figures
    .filter(({ name }) => !(name in BASELINES))
    .map(({ name, value }) => {
      const bar = name === FOUR_NFS ? LEAST_OF_FOUR_NFS : null;
      return { name: `${name}, ${memory.label}`, value, unit: 'Mpps/core', better: 'higher', bar };
    });
  return [
    ...rate,
    ...cycles
      .filter(({ nf, chain, form }) => nf || (chain && !form))
      .map(({ nf, chain, bytes, cycles: value }) => ({
        name: `${nf ?? `chain ${chain}`}, ${bytes} B`,
        value,
        unit: 'cycles/packet',
        better: 'lower',
      })),
  ];
}

/** Parallel beside sequence: cycles of one worker, latency with two. */
function parallel(results) {
  const of = (wanted) =>
    results.find((result) => Object.entries(wanted).every(([key, value]) => result[key] === value));
  const sequences = results.filter(({ form }) => form === 'sequence');
  const cycles = sequences
    .filter((sequence) => sequence.cycles !== undefined)
    .map(({ chain, bytes, cycles: baseline }) => ({
      name: `${chain}, ${bytes} B, parallel beside sequence`,
      value: of({ chain, bytes, form: 'parallel' }).cycles,
      unit: 'cycles/packet',
      better: 'lower',
      bar: MOST_CYCLES * baseline,
      baseline,
    }));
  const latency = sequences
    .filter((sequence) => sequence.latency_ns)
    .flatMap(({ chain, bytes, latency_ns }) =>
      Object.entries(latency_ns).map(([percentile, ns]) => ({
        name: `${chain}, ${bytes} B, latency ${percentile}, two workers beside one`,
        value: of({ chain, bytes, form: 'parallel, two workers' }).latency_ns[percentile] / 1e3,
        unit: 'us',
        better: 'lower',
        bar: percentile === 'p10' ? (MOST_LATENCY * ns) / 1e3 : null,
        baseline: ns / 1e3,
      })),
    );
  const parts = results
    .filter(({ part }) => part)
    .map(({ part, bytes, cycles: value }) => ({
      name: `mirror and merge, ${part}, ${bytes} B`,
      value: value - branches(part) * of({ nf: 'l2-forwarder', bytes }).cycles,
      unit: 'cycles/packet',
      better: 'lower',
    }));
  return [...cycles, ...latency, ...parts];
}

const branches = (part) => (part.startsWith('two reading') ? 2 : 3);

/** The kinds of ports on an interface, over a veth pair in a network namespace of its own, in turn. */
async function ports() {
  const steps = [
    'ip link add near type veth peer name far',
    'ip link set near up',
    'ip link set far up',
    `exec "$0" --ports near far --no-huge --seconds ${SECONDS / 2}`,
  ];
  const results = await step('ports', async () => {
    const all = [];
    for (let round = 0; round < ROUNDS; round++)
      all.push(...(await linesOf('unshare', ['--net', 'sh', '-c', steps.join(' && '), ENGINE_BENCH])));
    return all;
  });
  const of = (driver, bytes, frames, field) =>
    median(
      results.filter((it) => it.port === driver && it.bytes === bytes && it.frames === frames).map((it) => it[field]),
    );
  const beside = (driver, name, unit, bytes, frames, field) => ({
    name: `${driver} beside af_packet, ${bytes} B, ${name}`,
    value: of(driver, bytes, frames, field),
    unit,
    better: 'lower',
    baseline: of('af_packet', bytes, frames, field),
  });
  return [60, 1500].flatMap((bytes) => [
    ...['af_xdp', 'memif'].map((driver) => beside(driver, 'CPU of a frame in and out', 'ns', bytes, 256, 'cpu_ns')),
    beside('af_xdp', 'there and back, one at a time', 'us', bytes, 1, 'mean_us'),
  ]);
}

async function all(memories) {
  const memory = memories.at(-1);
  const forwarding = await rates(memories);
  const results = await step('chains', () => linesOf(ENGINE_BENCH, ['--chains', memory.ours]));
  return [...forwarding, ...(await nfs(memory, results)), ...parallel(results), ...(await ports())];
}

export const bench = {
  title: 'the engine beside dpdk-testpmd, NFs and chains in sequence and in parallel, and kinds of ports',
  async run() {
    const both = await withHugepages(() => all([PLAIN, HUGE]));
    if (both) return both;
    console.error('No hugepages can be reserved on this machine: figures without them.');
    return all([PLAIN]);
  },
};
