import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isInterrupted, onInterrupt } from '../interrupt.mjs';
import { rotatingLog } from '../rotating-log.mjs';
import { LOG_DIR } from './paths.mjs';
import { SetupError } from './progress.mjs';

/** Time that a command gets to end with its children before they are killed. */
const GRACE_MS = 10_000;

/** Of a background process: whatever else wants the processor goes first. */
const LEAST_PRIORITY = 19;

/** The running commands: `{ child, closed, whole }`. */
const running = new Set();

/**
 * Runs a command to completion with its output in a log file. Throws SetupError with the log's last lines if it fails.
 * It has a process group of its own, which is ended when this command is interrupted, and killed when this process ends.
 * With `background`, the command and its children run at low priority. With `whole`, it is only asked to end, and waited for:
 * it leaves a mess behind if it is killed.
 * @param {string} name of the log file
 */
export async function run(name, command, args, options = {}) {
  if (isInterrupted()) throw new SetupError(`${command} is not started: interrupted`);
  const logFile = `${LOG_DIR}/${name}.log`;
  mkdirSync(dirname(logFile), { recursive: true });
  const log = rotatingLog(logFile, { limitBytes: Number.POSITIVE_INFINITY, kept: 0 });
  const { onLine, background = false, whole = false, ...spawnOptions } = options;
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...spawnOptions });
  if (background) yieldProcessor(child);
  const forget = endWithUs(child);
  let tail = '';
  const take = (chunk) => {
    log.write(chunk);
    tail = (tail + chunk).slice(-4000);
    if (onLine) for (const line of String(chunk).split('\n')) if (line.trim()) onLine(line.trim());
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const closed = new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new SetupError(`${command} cannot be started: ${error.message}`)));
    child.on('close', (exit, signal) => resolve(exit ?? signal));
  });
  const entry = { child, closed, whole };
  running.add(entry);
  onInterrupt(endCommands);
  const code = await closed.finally(() => {
    running.delete(entry);
    forget();
    log.end();
  });
  if (code !== 0) {
    const last = tail.trimEnd().split('\n').slice(-25).join('\n');
    throw new SetupError(
      `\`${[command, ...args].join(' ')}\` ended with ${code}. Its last lines (all: ${logFile}):\n${last}`,
    );
  }
  return tail;
}

/** Ends every running command with its children; resolves when all have ended. */
export async function endCommands() {
  await Promise.all(
    [...running].map(async ({ child, closed, whole }) => {
      if (whole) {
        child.kill('SIGINT');
        await closed.catch(() => undefined);
        return;
      }
      signalGroup(child, 'SIGTERM');
      const kill = setTimeout(() => signalGroup(child, 'SIGKILL'), GRACE_MS);
      // Closed once none of its children holds its output any more.
      await closed.catch(() => undefined);
      clearTimeout(kill);
    }),
  );
}

/**
 * Lowers the priority of a process that leads its own session. Linux shares the processor between sessions first
 * (sched(7), autogroup), so niceness alone has no effect.
 */
export function yieldProcessor(child) {
  try {
    writeFileSync(`/proc/${child.pid}/autogroup`, String(LEAST_PRIORITY));
  } catch {
    // Without autogroups, or already ended: normal priority.
  }
}

/** Kills the group of a child when this process ends. Returns a function that cancels this. */
export function endWithUs(child) {
  const end = () => signalGroup(child, 'SIGKILL');
  process.on('exit', end);
  return () => process.off('exit', end);
}

function signalGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Already ended.
  }
}
