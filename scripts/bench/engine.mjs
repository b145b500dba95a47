import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { onInterrupt } from '../interrupt.mjs';
import { ROOT } from '../setup/paths.mjs';
import { SetupError, step } from '../setup/progress.mjs';
import { cpuSeconds, median } from './measure.mjs';

const ROUNDS = 3;
const SECONDS = 2;
const HUGEPAGES = '/proc/sys/vm/nr_hugepages';
const PAGES_WANTED = 512;

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

async function ours(memoryFlag) {
  const { stdout } = await promisify(execFile)(
    resolve(ROOT, 'agents/build/engine/orrery-engine-bench'),
    ['--json', '--seconds', String(SECONDS), memoryFlag],
    { maxBuffer: 1 << 22 },
  );
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

/** Our figures and testpmd's with each kind of memory, in turn, so that all see the same state of the machine. */
async function rounds(memories) {
  const values = new Map();
  const baselines = new Map();
  const add = (map, name, value) => map.set(name, [...(map.get(name) ?? []), value]);
  for (const { label, ours: flag, testpmd: memory } of Array(ROUNDS).fill(memories).flat()) {
    await step(label, async (note) => {
      note('engine');
      for (const { name, value } of await ours(flag)) add(values, `${name}, ${label}`, value);
      note('testpmd');
      for (const [name, run] of Object.entries(BASELINES)) add(baselines, `${name}, ${label}`, await run(memory));
    });
  }
  return [...values].map(([name, list]) => ({
    name,
    value: median(list),
    unit: 'Mpps/core',
    better: 'higher',
    baseline: baselines.has(name) ? median(baselines.get(name)) : null,
  }));
}

export const bench = {
  title: 'the engine: L2 forwarder beside dpdk-testpmd, then firewall, NAT, IDS and monitor, in Mpps a core',
  async run() {
    const both = await withHugepages(() => rounds([PLAIN, HUGE]));
    if (both) return both;
    console.error('No hugepages can be reserved on this machine: those figures are left out.');
    return rounds([PLAIN]);
  },
};
