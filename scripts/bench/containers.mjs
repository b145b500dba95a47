import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { onInterrupt } from '../interrupt.mjs';
import { ROOT } from '../setup/paths.mjs';
import { SetupError, step } from '../setup/progress.mjs';
import { cpuSeconds, median } from './measure.mjs';

const BUILD = resolve(ROOT, 'agents/build');
const PROGRAM = resolve(BUILD, 'container-nf/orrery-container-nf');
const LOAD = resolve(BUILD, 'container-nf/orrery-wire-load');
const ENGINE = resolve(BUILD, 'engine/orrery-engine');

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

/** First line of a child's output; rejects if the child ends before. */
function firstLine(child) {
  return new Promise((done, fail) => {
    createInterface({ input: child.stdout }).once('line', done);
    child.once('close', (code) => fail(new SetupError(`${child.spawnfile} ended with ${code}`)));
  });
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once('close', done));
  child.kill('SIGTERM');
  await ended;
}

/**
 * A network namespace with the two pairs between load and subject; `run` returns a command's output, `start` a child.
 */
async function network() {
  const holder = spawn('unshare', ['--net', PROGRAM, 'hold'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onInterrupt(() => end(holder));
  await firstLine(holder);
  const inside = (command, args) => ['nsenter', [`--net=/proc/${holder.pid}/ns/net`, command, ...args]];
  const run = async (command, args) => (await promisify(execFile)(...inside(command, args))).stdout;
  for (const [load, subject] of [
    ['load-near', 'near'],
    ['load-far', 'far'],
  ]) {
    await run('ip', ['link', 'add', load, 'type', 'veth', 'peer', 'name', subject]);
    for (const name of [load, subject])
      await run('ip', ['link', 'set', 'dev', name, 'addrgenmode', 'none', 'arp', 'off', 'up']);
  }
  const start = async (command, args) => {
    const child = spawn(...inside(command, args), { stdio: ['ignore', 'pipe', 'inherit'] });
    onInterrupt(() => end(child));
    await firstLine(child);
    return child;
  };
  return { run, start, end: () => end(holder) };
}

function request(socket, method, params) {
  return new Promise((done, fail) => {
    const connection = createConnection(socket);
    connection.once('error', fail);
    createInterface({ input: connection }).once('line', (line) => {
      connection.destroy();
      const { result, error } = JSON.parse(line);
      if (error) fail(new SetupError(`${method}: ${error.detail} (at ${error.pointer})`));
      else done(result);
    });
    connection.write(`${JSON.stringify({ id: 1, method, params })}\n`);
  });
}

/** The NF between its ports as the agent wires it: hop, queue, NF, hop. */
function graph(nf, config) {
  const modules = [
    ['in', 'port_in', { port: 'near' }],
    ['untag', 'hop_in', { hops: [{ hop: HOP, gate: 0 }] }],
    ['queue', 'queue', {}],
    ['nf', nf, config],
    ['tag', 'hop_out', { hop: HOP }],
    ['out', 'port_out', { port: 'far' }],
  ].map(([name, kind, config]) => ({ name, kind, config }));
  return {
    generation: 1,
    ports: ['near', 'far'].map((name) => ({ name, driver: 'af_packet', iface: name })),
    modules,
    links: modules.slice(1).map(({ name }, i) => ({ from: modules[i].name, gate: 0, to: name })),
    tasks: ['in', 'queue'].map((module) => ({ module })),
  };
}

const SUBJECTS = {
  async engine({ start }, directory, nf, config) {
    const socket = resolve(directory, 'engine.sock');
    const child = await start(ENGINE, ['--socket', socket, '--memory', 'no-huge']);
    await request(socket, 'apply', graph(nf, config));
    return { child, cyclesPerSecond: (await request(socket, 'stats', {})).cycles_per_second };
  },
  async container({ start }, directory, nf, config) {
    const instance = resolve(directory, 'instance.json');
    writeFileSync(instance, JSON.stringify({ nf, config, metadata: {} }));
    const control = resolve(directory, 'nf.sock');
    return {
      child: await start(PROGRAM, [
        'run',
        '--near',
        'near',
        '--far',
        'far',
        '--instance',
        instance,
        '--control',
        control,
      ]),
    };
  },
};

/** One subject under every load: {load: {pps, p50_us, p99_us, CPU time in ns per packet}}. */
async function measure({ run }, child) {
  const result = {};
  for (const [name, { window, bytes }] of Object.entries(LOADS)) {
    const before = cpuSeconds(`/proc/${child.pid}`);
    const options = { near: 'load-near', far: 'load-far', hop: HOP, window, bytes, seconds: SECONDS };
    const args = Object.entries(options).flatMap(([option, value]) => [`--${option}`, String(value)]);
    const load = JSON.parse(await run(LOAD, args));
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

export const bench = {
  title:
    'container NFs: an NF alone in its container beside the same NF in an engine, over the same kind of veth pairs',
  run: () =>
    step('Containers', async (note) => {
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
    }),
};
