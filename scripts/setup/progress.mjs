import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { LOG_DIR } from './paths.mjs';

/** A failure whose message is all that the user needs to read. */
export class SetupError extends Error {}

const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

/** Steps in progress, in order of their start; on a terminal, each has its own line at the bottom. */
const steps = new Set();
const tty = process.stderr.isTTY;
let drawn = 0;
let timer;

const lineOf = ({ title, note, start }, mark) => `${mark} ${title}${note ? `: ${note}` : ''} (${seconds(start)})`;
const erase = () => {
  if (drawn > 0) process.stderr.write(`\x1b[${drawn}A\x1b[J`);
  drawn = 0;
};
function draw() {
  erase();
  for (const each of steps) {
    process.stderr.write(`${lineOf(each, '…').slice(0, process.stderr.columns || 200)}\n`);
    drawn++;
  }
}
/** Without a terminal, prints a line when there is news, and once a minute to show that it is still running. */
function tell() {
  for (const each of steps) {
    const quiet = each.note === each.told && Date.now() - each.toldAt < 60_000;
    if (quiet) continue;
    each.told = each.note;
    each.toldAt = Date.now();
    process.stderr.write(`${lineOf(each, '…')}\n`);
  }
}

/** Prints a block of text above the lines of the steps in progress. */
export function print(text) {
  if (tty) erase();
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  if (tty) draw();
}

/**
 * Runs one step and reports it on one line: its name, progress while it runs, its duration. Returns its result, which may
 * itself be a failure.
 */
export async function step(title, work, hasSucceeded = () => true) {
  const here = { title, note: '', start: Date.now(), told: null, toldAt: Date.now() };
  steps.add(here);
  timer ??= setInterval(tty ? draw : tell, tty ? 250 : 15_000);
  if (tty) draw();
  const finish = (mark) => {
    steps.delete(here);
    if (tty) erase();
    process.stderr.write(`${lineOf(here, mark)}\n`);
    if (tty) draw();
    if (steps.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  try {
    const result = await work((text) => {
      here.note = text;
    });
    finish(hasSucceeded(result) ? '✓' : '✗');
    return result;
  } catch (error) {
    finish('✗');
    throw error;
  }
}

/**
 * Runs a command to completion with its output in a log file. Throws SetupError with the log's last lines if it fails.
 * With `background`, the command and its children run at low priority.
 * @param {string} name of the log file
 */
export async function run(name, command, args, options = {}) {
  const logFile = `${LOG_DIR}/${name}.log`;
  mkdirSync(dirname(logFile), { recursive: true });
  const log = createWriteStream(logFile);
  const { onLine, background = false, ...spawnOptions } = options;
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(background ? { detached: true } : {}),
    ...spawnOptions,
  });
  const forget = background ? yieldAndEndWithUs(child) : () => undefined;
  let tail = '';
  const take = (chunk) => {
    log.write(chunk);
    tail = (tail + chunk).slice(-4000);
    if (onLine) for (const line of String(chunk).split('\n')) if (line.trim()) onLine(line.trim());
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const code = await new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new SetupError(`${command} cannot be started: ${error.message}`)));
    child.on('close', (exit, signal) => resolve(exit ?? signal));
  });
  forget();
  log.end();
  if (code !== 0) {
    const last = tail.trimEnd().split('\n').slice(-25).join('\n');
    throw new SetupError(
      `\`${[command, ...args].join(' ')}\` ended with ${code}. Its last lines (all: ${logFile}):\n${last}`,
    );
  }
  return tail;
}

/**
 * Lowers the priority of a process that leads its own session, and ends it with this process. Returns a function that
 * ends the latter. Linux shares the processor between sessions first (sched(7), autogroup), so niceness alone has no
 * effect.
 */
export function yieldAndEndWithUs(child) {
  try {
    writeFileSync(`/proc/${child.pid}/autogroup`, '5');
  } catch {
    // Without autogroups, or already ended: normal priority.
  }
  const end = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // Already ended.
    }
  };
  process.on('exit', end);
  return () => process.off('exit', end);
}
