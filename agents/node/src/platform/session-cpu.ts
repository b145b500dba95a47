import { readdirSync, readFileSync } from 'node:fs';

/** Of the times in /proc/PID/stat (sysconf(_SC_CLK_TCK), which is 100 on Linux for programs). */
const NS_PER_TICK = 1e9 / 100;

/** Fields of /proc/PID/stat behind the name of the program, which may hold anything (proc(5)). */
const SESSION = 3;
const TIMES = [11, 12, 13, 14];

/**
 * CPU time in ns of the processes in each session, with their children that have ended. It falls when a process ends that
 * its parent does not wait for.
 */
export function cpuOfSessions(): Map<number, number> {
  const sessions = new Map<number, number>();
  for (const fields of processes()) {
    const session = Number(fields[SESSION]);
    sessions.set(session, (sessions.get(session) ?? 0) + ticksOf(fields) * NS_PER_TICK);
  }
  return sessions;
}

const ticksOf = (fields: readonly string[]) => TIMES.reduce((sum, field) => sum + Number(fields[field]), 0);

function processes(): string[][] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      return [stat.slice(stat.lastIndexOf(')') + 2).split(' ')];
    } catch {
      return [];
    }
  });
}
