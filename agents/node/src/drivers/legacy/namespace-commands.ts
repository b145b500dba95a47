import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { type ControlGroup, within } from '../../platform/cgroup.js';
import { readable } from '../../platform/readable.js';
import { DriverError } from '../nf-driver.js';

const run = promisify(execFile);

const LIMIT_MS = 20_000;
const OUTPUT_CHARS = 300;
const SBIN = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/**
 * What a program may do besides using its own files: configure its network namespace, and become another user
 * (capabilities(7)). Outside a container that is no sandbox: with these it writes files of the server, ends its processes,
 * and leaves namespace and limits.
 */
export const CAPABILITIES = [
  ...['net_admin', 'net_raw', 'net_bind_service', 'setuid', 'setgid', 'setpcap'],
  ...['chown', 'dac_override', 'fowner', 'kill'],
];

/** What programs get of the agent's environment, in which there may be secrets. */
const INHERITED = ['HOME', 'LANG', 'LC_ALL', 'TZ'];

/** Environment of programs: administrators' programs are found as well. */
export const PROGRAM_ENV = {
  ...Object.fromEntries(INHERITED.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : []))),
  PATH: [...new Set([...pathFolders(), ...SBIN])].join(delimiter),
};

function pathFolders(): string[] {
  return (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
}

/** Whether a program can be run, by PATH or by its absolute path. */
export function isInstalled(program: string, path = PROGRAM_ENV.PATH): boolean {
  const places = program.startsWith('/') ? [program] : path.split(delimiter).map((it) => join(it, program));
  return places.some((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** How the commands of an NF are run. */
export interface Entry {
  /** In its network namespace. */
  pid: number;
  /** As its namespaces show it. */
  directory: string;
  /** With the files and processes of `pid`, which is in a container, and this PATH; null: with those of the host. */
  contained: { path: string } | null;
  /** Whose limits hold for them. */
  group: ControlGroup;
  /** The largest file that they may write; one that writes more is ended (SIGXFSZ). */
  file_bytes: number;
}

/**
 * The command as one of the namespaces of a process, with the rights of a legacy NF. One in a container is started
 * without Docker, which may be away, and ends with the one who asked for it. What it runs before it has given up the
 * agent's rights is of the host: nothing in a container can write to /usr.
 */
export function confined(
  { pid, directory, contained, group, file_bytes }: Entry,
  command: readonly string[],
): string[] {
  const bounding = ['-all', ...CAPABILITIES.map((capability) => `+${capability}`)].join(',');
  const rights = ['--no-new-privs', `--bounding-set=${bounding}`];
  const enter = ['nsenter', '-t', String(pid), '-n'];
  const bound = ['/usr/bin/prlimit', `--fsize=${file_bytes}`];
  if (!contained)
    return within(group, [...enter, `--wd=${directory}`, '--', 'setpriv', ...rights, '--', ...bound, ...command]);
  return within(group, [
    ...[...enter, '-m', '-p', '-i', '-u', '--'],
    ...['/usr/bin/setpriv', ...rights, '--pdeathsig=KILL', '--', ...bound],
    ...['/usr/bin/env', `--chdir=${directory}`, `PATH=${contained.path}`, 'HOME=/tmp', ...command],
  ]);
}

/** Runs a command of ours in the network namespace of a process. Throws a DriverError with what it said. */
export async function inNamespace(pid: number, ...command: string[]): Promise<void> {
  await must(['nsenter', '-t', String(pid), '-n', '--', ...command]);
}

/** As `inNamespace`, with text for its standard input. */
export async function feedNamespace(pid: number, input: string, ...command: string[]): Promise<void> {
  await must(['nsenter', '-t', String(pid), '-n', '--', ...command], { input });
}

/** What a command of an NF says within a time limit. Throws a DriverError if it fails. */
export function heardFrom(entry: Entry, command: readonly string[], limit_ms: number): Promise<string> {
  return must(confined(entry, command), { shown: command.join(' '), limit_ms });
}

/** Runs one command of an NF. One that fails by itself would do so again: the error is permanent. */
export async function setUpOnce(entry: Entry, command: readonly string[]): Promise<void> {
  await must(confined(entry, command), { shown: command.join(' '), isPermanent: true });
}

async function must(
  [program, ...args]: string[],
  { shown = [program, ...args].join(' '), isPermanent = false, input = '', limit_ms = LIMIT_MS } = {},
): Promise<string> {
  const started = run(program!, args, { env: PROGRAM_ENV, timeout: limit_ms, killSignal: 'SIGKILL' });
  started.child.stdin?.on('error', () => undefined).end(input);
  try {
    return (await started).stdout;
  } catch (error) {
    const { stderr, stdout, code, killed } = error as {
      stderr?: string;
      stdout?: string;
      code?: unknown;
      killed?: boolean;
    };
    if (killed) throw new DriverError(`${shown}: did not end within ${limit_ms / 1000} s`);
    const said = readable(stderr || stdout || String(error), OUTPUT_CHARS);
    throw new DriverError(`${shown}: ${said || `exit code ${code}`}`, null, isPermanent && typeof code === 'number');
  }
}
