import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { DriverError } from '../nf-driver.js';

const run = promisify(execFile);

const LIMIT_MS = 20_000;
const OUTPUT_CHARS = 300;
const SBIN = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/**
 * What a program may do besides using its own files: configure its network namespace, and become another user
 * (capabilities(7)). That is no sandbox: with these it writes files of the server, ends its processes, and leaves namespace
 * and limits.
 */
const CAPABILITIES = [
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
export function isInstalled(program: string): boolean {
  const places = program.startsWith('/') ? [program] : PROGRAM_ENV.PATH.split(delimiter).map((it) => join(it, program));
  return places.some((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** The command as one of the network namespace of a process, with the rights of a legacy NF. */
export function confined(pid: number, directory: string, command: readonly string[]): string[] {
  const bounding = ['-all', ...CAPABILITIES.map((capability) => `+${capability}`)].join(',');
  return [
    ...['nsenter', '-t', String(pid), '-n', `--wd=${directory}`, '--'],
    ...['setpriv', '--no-new-privs', `--bounding-set=${bounding}`, '--', ...command],
  ];
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
export function heardFrom(
  pid: number,
  directory: string,
  command: readonly string[],
  limit_ms: number,
): Promise<string> {
  return must(confined(pid, directory, command), { shown: command.join(' '), limit_ms });
}

/** Runs one command of an NF. One that fails by itself would do so again: the error is permanent. */
export async function setUpOnce(pid: number, directory: string, command: readonly string[]): Promise<void> {
  await must(confined(pid, directory, command), { shown: command.join(' '), isPermanent: true });
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
    const said = (stderr || stdout || String(error)).trim().slice(0, OUTPUT_CHARS);
    throw new DriverError(`${shown}: ${said || `exit code ${code}`}`, null, isPermanent && typeof code === 'number');
  }
}
