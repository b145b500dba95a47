import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { onInterrupt } from '../interrupt.mjs';
import { ROOT } from '../setup/paths.mjs';
import { SetupError } from '../setup/progress.mjs';

const BUILD = resolve(ROOT, 'agents/build');
const PROGRAM = resolve(BUILD, 'container-nf/orrery-container-nf');
const LOAD = resolve(BUILD, 'container-nf/orrery-wire-load');
const ENGINE = resolve(BUILD, 'engine/orrery-engine');

/** First line of a child's output; rejects if the child ends before. */
function firstLine(child) {
  return new Promise((done, fail) => {
    createInterface({ input: child.stdout }).once('line', done);
    child.once('close', (code) => fail(new SetupError(`${child.spawnfile} ended with ${code}`)));
  });
}

export async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once('close', done));
  child.kill('SIGTERM');
  await ended;
}

/** Ends of the two veth pairs between load and subject. */
const PAIRS = [
  ['load-near', 'near'],
  ['load-far', 'far'],
];

/**
 * A network namespace with the two veth pairs between load and subject, and `more` of them. `start` returns a child,
 * `load` what orrery-wire-load measures.
 */
export async function network(more = []) {
  const holder = spawn('unshare', ['--net', PROGRAM, 'hold'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onInterrupt(() => end(holder));
  await firstLine(holder);
  const inside = (command, args) => ['nsenter', [`--net=/proc/${holder.pid}/ns/net`, command, ...args]];
  const run = async (command, args) => (await promisify(execFile)(...inside(command, args))).stdout;
  for (const [one, other] of [...PAIRS, ...more]) {
    await run('ip', ['link', 'add', one, 'type', 'veth', 'peer', 'name', other]);
    for (const name of [one, other])
      await run('ip', ['link', 'set', 'dev', name, 'addrgenmode', 'none', 'arp', 'off', 'up']);
  }
  const start = async (command, args) => {
    const child = spawn(...inside(command, args), { stdio: ['ignore', 'pipe', 'inherit'] });
    onInterrupt(() => end(child));
    await firstLine(child);
    return child;
  };
  const load = async (options) => {
    const args = Object.entries({ near: 'load-near', far: 'load-far', ...options });
    return JSON.parse(
      await run(
        LOAD,
        args.flatMap(([option, value]) => [`--${option}`, String(value)]),
      ),
    );
  };
  return { start, load, end: () => end(holder) };
}

/** The result of one call of an engine's control protocol. */
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

/** An engine that runs a graph. */
export async function startEngine({ start }, directory, graph) {
  const socket = resolve(directory, 'engine.sock');
  const child = await start(ENGINE, ['--socket', socket, '--memory', 'no-huge']);
  await request(socket, 'apply', graph);
  return { child, cyclesPerSecond: (await request(socket, 'stats', {})).cycles_per_second };
}

/** An NF as a program between two interfaces. */
export function startProgram({ start }, directory, { near, far }, nf, config) {
  const file = (extension) => resolve(directory, `${near}.${extension}`);
  writeFileSync(file('json'), JSON.stringify({ nf, config, metadata: {} }));
  const options = { near, far, instance: file('json'), control: file('sock') };
  return start(PROGRAM, ['run', ...Object.entries(options).flatMap(([option, value]) => [`--${option}`, value])]);
}

/** A graph of the engine: `paths` are lines of modules `[name, kind, config]` between packet sockets. */
export function graphOf(interfaces, paths) {
  const tasks = ['port_in', 'queue'];
  return {
    generation: 1,
    ports: interfaces.map((name) => ({ name, driver: 'af_packet', iface: name })),
    modules: paths.flat().map(([name, kind, config]) => ({ name, kind, config })),
    links: paths.flatMap((line) => line.slice(1).map(([to], i) => ({ from: line[i][0], gate: 0, to }))),
    tasks: paths.flat().flatMap(([module, kind]) => (tasks.includes(kind) ? [{ module }] : [])),
  };
}
