import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { ROOT } from './setup/paths.mjs';

/** Time that a stage has to take down what it started, before it is killed. */
const GRACE_S = 20;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs one stage's command line. One that takes longer than `limitS` is interrupted, as is one whose user interrupts
 * this command, and killed with all that it started when it does not end then.
 * @param {[name: string, command: string]} stage
 */
export function runStage([name, command], limitS, graceS = GRACE_S) {
  const start = Date.now();
  console.log(`\n=== ${name}: ${command}`);
  const child = spawn('bash', ['-c', command], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'], detached: true });
  let timedOut = false;
  let interrupted = false;
  let kill;
  const end = () => {
    if (kill) return;
    signal(-child.pid, 'SIGINT');
    kill = setTimeout(() => {
      for (const pid of [...descendants(child.pid), -child.pid]) signal(pid, 'SIGKILL');
    }, graceS * 1000);
  };
  const onSignal = () => {
    interrupted = true;
    end();
  };
  const limit = setTimeout(() => {
    timedOut = true;
    console.error(`\n${name} takes longer than ${limitS} s: it is ended.`);
    end();
  }, limitS * 1000);
  for (const each of SIGNALS) process.on(each, onSignal);
  return new Promise((resolve) => {
    child.on('exit', (code) => {
      clearTimeout(limit);
      clearTimeout(kill);
      for (const each of SIGNALS) process.off(each, onSignal);
      if (interrupted) process.exit(130);
      resolve({ name, ok: code === 0 && !timedOut, timedOut, seconds: (Date.now() - start) / 1000 });
    });
  });
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

/** What a process started and what that started, also in groups and sessions of their own. */
function descendants(root) {
  const parents = new Map();
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
      parents.set(Number(pid), Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // It has ended.
    }
  }
  const found = [root];
  for (const pid of found) for (const [each, parent] of parents) if (parent === pid) found.push(each);
  return found;
}
