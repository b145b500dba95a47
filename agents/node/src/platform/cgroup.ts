import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export interface Limits {
  /** 1: the time of one core. */
  cpus: number;
  memory_bytes: number;
  /** Threads count, too. */
  processes: number;
}

/** Where processes are limited; `folders` is empty where the machine has no control groups that can be written to. */
export interface ControlGroup {
  readonly folders: readonly string[];
}

const PERIOD_US = 100_000;

type Controller = 'cpu' | 'memory' | 'pids';
const CONTROLLERS: readonly Controller[] = ['cpu', 'memory', 'pids'];

/** A process that ends may have started others just before. */
const MOST_LOOKS = 50;

interface Mount {
  /** The part of the hierarchy that is mounted. */
  readonly root: string;
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
      const [, , , root, path] = before?.split(' ') ?? [];
      const [type, , options = ''] = after?.split(' ') ?? [];
      if (!root || !path || (type !== 'cgroup' && type !== 'cgroup2')) return [];
      return [{ root, path, type, options: options.split(',') }];
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

/** Controllers that limit groups of a hierarchy: in version 2, those of its root. */
function controllersOf({ type, path, options }: Mount): Controller[] {
  const names = type === 'cgroup2' ? textOf(join(path, 'cgroup.subtree_control')).trim().split(' ') : options;
  return CONTROLLERS.filter((controller) => names.includes(controller));
}

/** Hierarchies that limit something. */
const limiting = () => mounts().filter((mount) => controllersOf(mount).length > 0);

/** The files of a controller, by version. */
function settings({ cpus, memory_bytes, processes }: Limits, isUnified: boolean) {
  const quota_us = String(Math.round(cpus * PERIOD_US));
  const cpu: Record<string, string> = isUnified
    ? { 'cpu.max': `${quota_us} ${PERIOD_US}` }
    : { 'cpu.cfs_period_us': String(PERIOD_US), 'cpu.cfs_quota_us': quota_us };
  const memory: Record<string, string> = {
    [isUnified ? 'memory.max' : 'memory.limit_in_bytes']: String(memory_bytes),
  };
  const pids: Record<string, string> = { 'pids.max': String(processes) };
  return { cpu, memory, pids };
}

/**
 * The group of a name with these limits, in each hierarchy that has one of their controllers. Where it is there already,
 * its limits are these from now on.
 */
export function makeControlGroup(name: string, limits: Limits): ControlGroup {
  const made = limiting().map((mount) => {
    const files = settings(limits, mount.type === 'cgroup2');
    return make(mount, name, Object.assign({}, ...controllersOf(mount).map((controller) => files[controller])));
  });
  return { folders: made.filter((folder) => folder !== null) };
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

/** The groups in which a process is limited, for others to enter; none where that is not possible. */
export function groupOf(pid: number): ControlGroup {
  const lines = textOf(`/proc/${pid}/cgroup`).split('\n');
  const folders = limiting().flatMap((mount) => {
    const path = pathIn(mount, lines);
    const below = path === null ? '' : relative(mount.root, path);
    const folder = join(mount.path, below);
    return below !== '' && !below.startsWith('..') && isWritable(join(folder, 'cgroup.procs')) ? [folder] : [];
  });
  return { folders };
}

/** Where a process is in a hierarchy, by the lines of its /proc/PID/cgroup (cgroups(7)). */
function pathIn(mount: Mount, lines: readonly string[]): string | null {
  for (const line of lines) {
    const [, names = '', ...path] = line.split(':');
    const isHere = mount.type === 'cgroup2' ? line.startsWith('0::') : controllersOf(mount).some(isOneOf(names));
    if (isHere && path.length > 0) return path.join(':');
  }
  return null;
}

const isOneOf = (names: string) => (controller: string) => names.split(',').includes(controller);

/** Processes in the group of a name. */
export function membersOf(name: string): number[] {
  const files = limiting().map(({ path }) => join(path, name, 'cgroup.procs'));
  return [...new Set(files.flatMap((file) => textOf(file).split('\n').filter(Boolean).map(Number)))];
}

/** Ends every process in the group of a name, however fast they start others. It takes new ones when it is made again. */
export function endMembers(name: string): void {
  for (const { path } of limiting()) {
    try {
      writeFileSync(join(path, name, 'pids.max'), '0');
    } catch {
      // There is no such group, or this is no hierarchy that counts processes.
    }
  }
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const members = membersOf(name);
    if (members.length === 0) return;
    for (const pid of members) endNow(pid);
  }
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended.
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

/** The limits that hold for a process because it is in the group of a name. */
export function limitsOf(pid: number, name: string, limits: Limits): Partial<Limits> {
  const lines = textOf(`/proc/${pid}/cgroup`).split('\n');
  const inIt = limiting().filter((mount) => pathIn(mount, lines)?.endsWith(`/${name}`));
  const controllers = new Set(inIt.flatMap(controllersOf));
  return {
    ...(controllers.has('cpu') ? { cpus: limits.cpus } : {}),
    ...(controllers.has('memory') ? { memory_bytes: limits.memory_bytes } : {}),
    ...(controllers.has('pids') ? { processes: limits.processes } : {}),
  };
}

/** Empty where there is no such file. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
