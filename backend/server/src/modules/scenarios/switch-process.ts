import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Programs that are switches, by their first 15 characters, which is what Linux keeps of a name. */
const PROGRAMS = ['ovs-vswitchd', 'orrery-p4-switch', 'simple_switch_grpc'].map((name) => name.slice(0, 15));
/** Of the times in /proc/PID/stat (sysconf(_SC_CLK_TCK), which is 100 on Linux for programs). */
const MS_PER_TICK = 1000 / 100;
/** Fields of /proc/PID/stat behind the name of the program (proc(5)). */
const [USER, SYSTEM] = [11, 12];

/**
 * Pid on this machine of the switch whose pid in the twin is known: the twin counts pids by itself. `null`: this process does not see
 * it, as in a container of its own, or several twins have such a process and none of them was started from here.
 */
export function switchProcess(pidInTwin: number, root = '/proc', self = process.pid): number | null {
  const found = readdirSync(root).flatMap((name) => {
    const status = /^\d+$/.test(name) ? statusOf(root, Number(name)) : null;
    return status?.pids.slice(1).includes(pidInTwin) && PROGRAMS.includes(status.program) ? [Number(name)] : [];
  });
  const own = found.filter((pid) => isBelow(pid, self, root));
  const [one, ...more] = own.length > 0 ? own : found;
  return one !== undefined && more.length === 0 ? one : null;
}

/** CPU time of a process since it started, in ms; `null`: it has ended. */
export function cpuMsOf(pid: number, root = '/proc'): number | null {
  const stat = textOf(root, pid, 'stat');
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER]) + Number(fields[SYSTEM])) * MS_PER_TICK;
}

function isBelow(pid: number, ancestor: number, root: string): boolean {
  const parent = statusOf(root, pid)?.parent ?? 0;
  return parent === ancestor || (parent > 1 && isBelow(parent, ancestor, root));
}

interface Status {
  readonly program: string;
  readonly parent: number;
  /** In each namespace, from that of the machine inwards. */
  readonly pids: readonly number[];
}

function statusOf(root: string, pid: number): Status | null {
  const text = textOf(root, pid, 'status');
  if (text === null) return null;
  const field = (name: string) => new RegExp(`^${name}:\\t(.*)$`, 'm').exec(text)?.[1] ?? '';
  return { program: field('Name'), parent: Number(field('PPid')), pids: field('NSpid').split('\t').map(Number) };
}

function textOf(root: string, pid: number, file: string): string | null {
  try {
    return readFileSync(join(root, String(pid), file), 'utf8');
  } catch {
    return null;
  }
}
