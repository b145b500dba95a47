import { readdirSync, readFileSync } from 'node:fs';

/** Of the times in /proc/PID/stat (sysconf(_SC_CLK_TCK), which is 100 on Linux for programs). */
const NS_PER_TICK = 1e9 / 100;

/** Fields of /proc/PID/stat behind the name of the program, which may hold anything (proc(5)). */
const SESSION = 3;
const TIMES = [11, 12, 13, 14];

/**
 * CPU time of the processes in a session, with their children that have ended; null where there is none. It falls when a
 * process ends that its parent does not wait for.
 */
export function sessionCpuNs(session: number): number | null {
  const times = processes().flatMap((fields) => (Number(fields[SESSION]) === session ? [ticksOf(fields)] : []));
  return times.length === 0 ? null : times.reduce((sum, ticks) => sum + ticks, 0) * NS_PER_TICK;
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
