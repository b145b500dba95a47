import { join } from 'node:path';
import type { Limits } from '../../platform/cgroup.js';
import { CAPABILITIES, PROGRAM_ENV } from '../legacy/namespace-commands.js';
import { CONTROL_FOLDER, CONTROL_SOCKET, INSTANCE_FILE } from './nf-folder.js';
import { mountsOf, PROGRAM_FILES, PROGRAM_PATH, type ProgramView, SCRATCH } from './program-view.js';

export const NODE_LABEL = 'orrery.node';
export const INSTANCE_LABEL = 'orrery.instance';
/** What a container of an image was made from. */
export const DIGEST_LABEL = 'orrery.digest';

/** Where a container finds its files. */
const INSTANCE = `/${INSTANCE_FILE}`;
const CONTROL = `/${CONTROL_FOLDER}`;

/** User and group of nobody: work that needs more privileges is done earlier. */
const UNPRIVILEGED = '65534:65534';

/**
 * The NF that needs most has 301 MiB while it builds another configuration beside a full table of the largest size
 * (NAT, 1,048,576 flows).
 */
const MEMORY_BYTES = 512 * 1024 * 1024;
const NANO_CPUS = 1e9;
/** Of an NF of the engine. */
export const NF_LIMITS: Limits = { cpus: NANO_CPUS / 1e9, memory_bytes: MEMORY_BYTES, processes: 16 };
/** Of a program, which may start helpers and threads. */
export const PROGRAM_LIMITS: Limits = { ...NF_LIMITS, processes: 256 };
/** Counts as memory. */
const SHARED_MEMORY_BYTES = 64 * 1024 * 1024;

export interface Common {
  image: string;
  node: string;
  instance_id: string;
  /** Most of a core that the NF may use; absent: as much as its kind may. */
  cpu_limit?: number | undefined;
}

/** What Docker is told of the CPU: by quotas of a control group, of version 1 or 2. */
export const nanoCpus = (cpu_limit: number | undefined, most = NANO_CPUS / 1e9): number =>
  Math.round(Math.min(most, cpu_limit ?? most) * 1e9);

export const common = ({ image, node, instance_id }: Common) => ({
  Image: image,
  Labels: { [NODE_LABEL]: node, [INSTANCE_LABEL]: instance_id },
});

/** Leaves it nothing to write to: no volume, no shared memory, a bounded log. */
export const confined = {
  CapDrop: ['ALL'],
  ReadonlyRootfs: true,
  IpcMode: 'none',
  SecurityOpt: ['no-new-privileges'],
  Memory: MEMORY_BYTES,
  MemorySwap: MEMORY_BYTES,
  PidsLimit: NF_LIMITS.processes,
  RestartPolicy: { Name: 'no' },
  LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } },
};

export const bind = (source: string, target: string, readOnly: boolean) => ({
  Type: 'bind',
  Source: source,
  Target: target,
  ReadOnly: readOnly,
});

/** Owns the network namespace with the NF's interfaces, so that they survive a restart of the NF. */
export const holderConfig = (of: Common) => ({
  ...common(of),
  Cmd: ['hold'],
  User: UNPRIVILEGED,
  HostConfig: { ...confined, NetworkMode: 'none' },
});

/**
 * The NF, in the namespace of its holder. `directory` is on the host, already laid out. It starts as root to open its
 * interfaces and its socket, in a folder where nobody else can write, and drops root before the first packet.
 */
export const nfConfig = (of: Common, holder: string, directory: string) => ({
  ...common(of),
  Cmd: ['run', '--near', 'near', '--far', 'far', '--instance', INSTANCE, '--control', `${CONTROL}/${CONTROL_SOCKET}`],
  HostConfig: {
    ...confined,
    CapAdd: ['NET_RAW', 'SETUID', 'SETGID'],
    NanoCpus: nanoCpus(of.cpu_limit),
    NetworkMode: `container:${holder}`,
    Mounts: [
      bind(join(directory, INSTANCE_FILE), INSTANCE, true),
      bind(join(directory, CONTROL_FOLDER), CONTROL, false),
    ],
  },
});

/** As `holderConfig`, with the files and limits of a program: its setup runs in the namespaces of this container. */
export const programHolderConfig = (of: Common, view: ProgramView) => {
  const plain = holderConfig(of);
  const limits = { NanoCpus: NANO_CPUS, PidsLimit: PROGRAM_LIMITS.processes };
  return { ...plain, HostConfig: { ...plain.HostConfig, ...limits, Mounts: mountsOf(view), Tmpfs: SCRATCH } };
};

/**
 * An unmodified program, in the network namespace of its holder. It is root there, with the rights of a legacy NF.
 * `file_bytes`: the largest file that it may write.
 */
export const programConfig = (
  of: Common,
  holder: string,
  view: ProgramView,
  command: readonly string[],
  file_bytes: number,
) => ({
  ...common(of),
  Entrypoint: [command[0]],
  Cmd: command.slice(1),
  User: '0:0',
  WorkingDir: PROGRAM_FILES,
  Env: Object.entries({ ...PROGRAM_ENV, HOME: '/tmp', PATH: PROGRAM_PATH }).map(([name, value]) => `${name}=${value}`),
  HostConfig: {
    ...confined,
    CapAdd: CAPABILITIES.map((capability) => capability.toUpperCase()),
    NanoCpus: nanoCpus(of.cpu_limit),
    PidsLimit: PROGRAM_LIMITS.processes,
    Ulimits: [{ Name: 'fsize', Soft: file_bytes, Hard: file_bytes }],
    IpcMode: 'private',
    ShmSize: SHARED_MEMORY_BYTES,
    NetworkMode: `container:${holder}`,
    Mounts: mountsOf(view),
    Tmpfs: SCRATCH,
  },
});
