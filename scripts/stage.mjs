import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { isInterrupted, onInterrupt } from './interrupt.mjs';
import { endWithUs, yieldProcessor } from './setup/command.mjs';
import { ROOT } from './setup/paths.mjs';
import { SetupError } from './setup/progress.mjs';

/** Time that a stage gets to clean up before it is killed. */
const GRACE_S = 20;
const PIPES_MS = 500;
/** How Vitest, pytest, Playwright and Meson report in all what they skipped. */
const SKIPPED = [
  /^ *Tests .*?(\d+) skipped/gm,
  /(\d+) skipped.* in [\d.]+s/g,
  /^ *(\d+) skipped$/gm,
  /^Skipped:\s+(\d+)/gm,
];

/** How Vitest, Node, pytest, Playwright, GoogleTest and this program name in all what failed. */
const FAILED = /^\s*(FAIL |✖ |not ok |FAILED |ERROR |\d+\) |\[ {2}FAILED {2}\]|✗ )/;
const DIGEST_LINES = 48;
/** Of an output that names no failure. */
const DIGEST_LINES_AT_END = 12;
/** Of each failure: its message, what was expected and what came. */
const DIGEST_LINES_EACH = 8;
const DIGEST_COLUMNS = 200;

/** Ends a stage's command line: the shell's `times`, of itself and of its children, and the status of the command. */
const TELL_CPU = "status=$?; printf '\\0'; times; exit $status";
const CPU_TOLD = /\0.*\n(\d+)m([\d.]+)s (\d+)m([\d.]+)s\n/;

/** The running stages: how to end each, and when it has ended. */
const running = new Set();

/**
 * Runs one stage's command line and collects its output. One that takes longer than `limitS` is interrupted, and if it
 * does not end then, killed with all that it started. With `background` it runs at low priority.
 * @param {{ name: string, command: string, background?: boolean }} stage
 */
export async function runStage({ name, command, background = false }, limitS, graceS = GRACE_S) {
  if (isInterrupted()) throw new SetupError(`${name} is not started: interrupted`);
  const start = Date.now();
  const child = spawn('bash', ['-c', `${command}\n${TELL_CPU}`], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  if (background) yieldProcessor(child);
  const forget = endWithUs(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  let timedOut = false;
  let kill;
  const end = () => {
    if (kill) return;
    signal(-child.pid, 'SIGINT');
    kill = setTimeout(() => {
      for (const pid of [...descendants(child.pid), -child.pid]) signal(pid, 'SIGKILL');
    }, graceS * 1000);
  };
  const limit = setTimeout(() => {
    timedOut = true;
    output += `\n${name} takes longer than ${limitS} s: stopping it.\n`;
    end();
  }, limitS * 1000);
  const exited = new Promise((resolve) => child.on('exit', resolve));
  const closed = new Promise((resolve) => child.on('close', resolve));
  const stage = { end, exited };
  running.add(stage);
  onInterrupt(endStages);
  const code = await exited;
  clearTimeout(limit);
  clearTimeout(kill);
  running.delete(stage);
  forget();
  // Processes left running by a test may hold the pipes open forever.
  await Promise.race([closed, sleep(PIPES_MS)]);
  const seconds = (Date.now() - start) / 1000;
  const told = withoutCpu(output);
  return { name, ok: code === 0 && !timedOut, timedOut, seconds, ...told, skipped: skippedIn(told.output) };
}

/** Splits what `TELL_CPU` printed off the output; `cpuSeconds` is of all that the stage ran and waited for, null if it did not come that far. */
function withoutCpu(output) {
  const told = CPU_TOLD.exec(output);
  if (!told) return { output, cpuSeconds: null };
  const [userMin, userS, systemMin, systemS] = told.slice(1).map(Number);
  return { output: output.replace(told[0], ''), cpuSeconds: 60 * (userMin + systemMin) + userS + systemS };
}

/** Interrupts every running stage; resolves when all have ended. */
export async function endStages() {
  await Promise.all(
    [...running].map(({ end, exited }) => {
      end();
      return exited;
    }),
  );
}

/** Number of tests that the runners report as skipped. */
export function skippedIn(output) {
  const plain = stripVTControlCharacters(output);
  return SKIPPED.flatMap((pattern) => [...plain.matchAll(pattern)]).reduce((sum, [, count]) => sum + Number(count), 0);
}

/** What a failed stage's output says about its failures, in few lines: what failed with the first lines of each, or its end. */
export function failuresIn(output) {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.trimEnd().slice(0, DIGEST_COLUMNS))
    .filter((line) => line !== '');
  const named = [...lines.keys()].filter((n) => FAILED.test(lines[n]));
  const told = new Set(named.flatMap((n) => [...lines.keys()].slice(n, n + DIGEST_LINES_EACH)));
  return named.length > 0 ? [...told].slice(0, DIGEST_LINES).map((n) => lines[n]) : lines.slice(-DIGEST_LINES_AT_END);
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // Already ended.
  }
}

/** All descendants of a process, also in groups and sessions of their own. */
function descendants(root) {
  const parents = new Map();
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
      parents.set(Number(pid), Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // Already ended.
    }
  }
  const found = [root];
  for (const pid of found) for (const [each, parent] of parents) if (parent === pid) found.push(each);
  return found;
}
