import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Limits {
  /** 1: the time of one core. */
  cpus: number;
  memory_bytes: number;
}

/** Where processes are limited; `folders` is empty where the machine has no control groups that can be written to. */
export interface ControlGroup {
  readonly folders: readonly string[];
}

const PERIOD_US = 100_000;

interface Mount {
  readonly path: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** Writable control group hierarchies of this mount namespace (proc(5), mountinfo). */
function mounts(): Mount[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line): Mount[] => {
      const [before, after] = line.split(' - ');
      const path = before?.split(' ')[4];
      const [type, , options = ''] = after?.split(' ') ?? [];
      return path && (type === 'cgroup' || type === 'cgroup2') ? [{ path, type, options: options.split(',') }] : [];
    })
    .filter(({ path }) => isWritable(path));
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The group of a name with these limits, in version 2 where it has the controllers, else in version 1. */
export function makeControlGroup(name: string, { cpus, memory_bytes }: Limits): ControlGroup {
  const there = mounts();
  const quota_us = String(Math.round(cpus * PERIOD_US));
  const unified = there.find(({ path, type }) => type === 'cgroup2' && controllersOf(path).includes('memory'));
  const made = unified
    ? [make(unified, name, { 'cpu.max': `${quota_us} ${PERIOD_US}`, 'memory.max': String(memory_bytes) })]
    : (
        [
          ['cpu', { 'cpu.cfs_period_us': String(PERIOD_US), 'cpu.cfs_quota_us': quota_us }],
          ['memory', { 'memory.limit_in_bytes': String(memory_bytes) }],
        ] as const
      ).map(([controller, values]) => {
        const mount = there.find(({ type, options }) => type === 'cgroup' && options.includes(controller));
        return mount ? make(mount, name, values) : null;
      });
  return { folders: made.filter((folder) => folder !== null) };
}

function controllersOf(path: string): string[] {
  try {
    return readFileSync(join(path, 'cgroup.subtree_control'), 'utf8').trim().split(' ');
  } catch {
    return [];
  }
}

function make({ path }: Mount, name: string, values: Readonly<Record<string, string>>): string | null {
  const folder = join(path, name);
  try {
    mkdirSync(folder, { recursive: true });
    for (const [file, value] of Object.entries(values)) writeFileSync(join(folder, file), value);
    return folder;
  } catch {
    removeFolder(folder);
    return null;
  }
}

/** Precondition: no process is left in it; otherwise it stays. */
export function removeControlGroup(name: string): void {
  for (const { path } of mounts()) removeFolder(join(path, name));
}

function removeFolder(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // There is none, or a process is still in it.
  }
}

/** The command, as one that enters the group before it starts. */
export function within({ folders }: ControlGroup, command: readonly string[]): string[] {
  if (folders.length === 0) return [...command];
  const files = folders.map((folder) => join(folder, 'cgroup.procs'));
  const enter = `for group in "$@"; do shift; [ "$group" = -- ] && break; echo $$ > "$group" || exit 125; done; exec "$@"`;
  return ['/bin/sh', '-c', enter, 'enter', ...files, '--', ...command];
}

/** The limits that hold for a process because it is in the group of a name (cgroups(7), /proc/PID/cgroup). */
export function limitsOf(pid: number, name: string, { cpus, memory_bytes }: Limits): Partial<Limits> {
  let lines: string[];
  try {
    lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n');
  } catch {
    return {};
  }
  const controllers = lines
    .filter((line) => line.endsWith(`/${name}`))
    .flatMap((line) => (line.startsWith('0::') ? ['cpu', 'memory'] : line.split(':')[1]!.split(',')));
  return {
    ...(controllers.includes('cpu') ? { cpus } : {}),
    ...(controllers.includes('memory') ? { memory_bytes } : {}),
  };
}
