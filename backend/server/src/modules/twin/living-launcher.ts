import { readdir, readFile } from 'node:fs/promises';

interface Process {
  readonly pid: number;
  readonly parent: number;
}

/**
 * The launcher that an earlier server started for the run directory, if it is still alive; `noted` is the pid that the server
 * wrote down, if it came to that before it was killed. Below the launcher, twind has the same arguments.
 */
export async function livingLauncher(runDir: string, noted: number): Promise<number | null> {
  if (noted > 1 && (await serves(noted, runDir))) return noted;
  const found: Process[] = [];
  for (const pid of (await readdir('/proc')).map(Number))
    if (pid > 1 && (await serves(pid, runDir))) found.push({ pid, parent: await parentOf(pid) });
  return found.find(({ parent }) => !found.some(({ pid }) => pid === parent))?.pid ?? null;
}

async function serves(pid: number, runDir: string): Promise<boolean> {
  const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  return words.some((word, i) => word === '--run-dir' && words[i + 1] === runDir);
}

/** A zombie counts as dead: only its parent, not this process, can reap it. */
export async function isAlive(pid: number): Promise<boolean> {
  const [state] = await statOf(pid);
  return state !== undefined && state !== 'Z';
}

async function parentOf(pid: number): Promise<number> {
  return Number((await statOf(pid))[1]);
}

/** State, parent and more; they follow the name (proc(5)). Empty: there is no such process. */
async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat === '' ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
