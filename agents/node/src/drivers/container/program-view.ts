import { existsSync, realpathSync } from 'node:fs';

/** Where a container finds the files of its instance, and those of an NF that came with the agent. */
export const PROGRAM_FILES = '/instance';
export const NF_FILES = '/nf';

/** Where programs are looked for in a container. */
export const PROGRAM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Programs and libraries of the host (hier(7)); which of them there are depends on the machine. */
const TREES = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** What programs look up that they were not told: users, names of services, libraries, certificates. No secrets. */
const SETTINGS = [
  ...['passwd', 'group', 'nsswitch.conf', 'services', 'protocols', 'localtime', 'ld.so.cache', 'alternatives'],
  ...['ssl/certs', 'ssl/openssl.cnf'],
].map((name) => `/etc/${name}`);

/** Folders in memory for what programs write besides their own files. */
export const SCRATCH = { '/tmp': 'size=64m,mode=1777', '/run': 'size=16m,mode=0755', '/var': 'size=64m,mode=0755' };

/** Whether programs of a container find another: by its name, or by an absolute path that they see. */
export const isSeen = (program: string): boolean =>
  !program.startsWith('/') ||
  program.startsWith(`${NF_FILES}/`) ||
  TREES.some((tree) => program.startsWith(`${tree}/`));

export interface ProgramView {
  /** Folders on the host. */
  files: string;
  /** Of an NF that came with the agent. */
  nf_directory: string | null;
  /** Those of the program. */
  packages: readonly string[];
}

/** What a container has of the host. `resolve`: where a path leads, null: nowhere. */
export function mountsOf({ files, nf_directory, packages }: ProgramView, resolve = resolved) {
  // The settings of a package may hold secrets. What came with the agent is trusted with those of its own.
  const own = nf_directory === null ? [] : packages.map((name) => `/etc/${name}`);
  const host = [...TREES, ...SETTINGS, ...own].flatMap((target) => {
    const source = resolve(target);
    return source === null ? [] : [bindOf(source, target, true)];
  });
  return [
    ...host,
    ...(nf_directory === null ? [] : [bindOf(nf_directory, NF_FILES, true)]),
    bindOf(files, PROGRAM_FILES, false),
  ];
}

/** Without what is mounted below, which could be written to. */
const bindOf = (Source: string, Target: string, ReadOnly: boolean) => ({
  Type: 'bind',
  Source,
  Target,
  ReadOnly,
  BindOptions: { NonRecursive: true },
});

function resolved(path: string): string | null {
  return existsSync(path) ? realpathSync(path) : null;
}
