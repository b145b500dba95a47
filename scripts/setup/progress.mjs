import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { LOG_DIR } from './paths.mjs';

/** A failure whose message is all that the user needs to read. */
export class SetupError extends Error {}

const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

/** Runs one step and says so on one line: what, progress while it lasts, how long it took. Returns its result. */
export async function step(title, work) {
  const start = Date.now();
  const tty = process.stderr.isTTY;
  let note = '';
  const line = (mark) => `${mark} ${title}${note ? `: ${note}` : ''} (${seconds(start)})`;
  const draw = () => process.stderr.write(tty ? `\r\x1b[2K${line('…')}` : `${line('…')}\n`);
  const timer = setInterval(draw, tty ? 250 : 15_000);
  if (tty) draw();
  const finish = (mark) => {
    clearInterval(timer);
    process.stderr.write(`${tty ? '\r\x1b[2K' : ''}${line(mark)}\n`);
  };
  try {
    const result = await work((text) => {
      note = text;
    });
    finish('✓');
    return result;
  } catch (error) {
    finish('✗');
    throw error;
  }
}

/**
 * Runs a command to its end with its output in a log file. Throws SetupError with the log's last lines when it fails.
 * @param {string} name of the log file
 */
export async function run(name, command, args, options = {}) {
  const logFile = `${LOG_DIR}/${name}.log`;
  mkdirSync(dirname(logFile), { recursive: true });
  const log = createWriteStream(logFile);
  const { onLine, ...spawnOptions } = options;
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...spawnOptions });
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
  log.end();
  if (code !== 0) {
    const last = tail.trimEnd().split('\n').slice(-25).join('\n');
    throw new SetupError(
      `\`${[command, ...args].join(' ')}\` ended with ${code}. Its last lines (all: ${logFile}):\n${last}`,
    );
  }
  return tail;
}
