import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { HEARTBEAT_SUFFIX, Name, Origin } from '@orrery/contract';
import { z } from 'zod';
import { controlSocket, NFS_FOLDER } from './drivers/container/nf-folder.js';
import { trustedAuthorities } from './link/trust.js';
import { PACKAGE_ROOT } from './package-root.js';

export class UsageError extends Error {
  override name = 'UsageError';
}

const ENGINE = resolve(PACKAGE_ROOT, '../build/engine/orrery-engine');
const IMAGES = resolve(PACKAGE_ROOT, '../build/images');
const NF_IMAGE = resolve(PACKAGE_ROOT, '../build/container-nf/container-nf.tar');
const DOCKER = '/run/docker.sock';
const MEMORY = ['auto', 'no-huge', 'hugepages'] as const;

export const HELP = `orrery-agent: runs the network functions of one server for Orrery
orrery-agent switches: programs switches (orrery-agent switches --help)

  --server URL          ws://, wss:// or ws+unix:/path/agents.sock:/api/v1/agent
  --node NAME           name of this node
  --origin twin|live    emulated or real
  --iface IFACE         interface of the data plane
  --state-dir DIR       files that must survive a reboot
  --run-dir DIR         sockets, pid files and logs
  --ca FILE             certificate authorities (PEM) for wss:// (default: those of the system)
  --join-token T        authenticates the node on its first connection
  --engine PATH         data-plane engine (${ENGINE})
  --memory auto|no-huge|hugepages   of the engine (auto)
  --workers N           worker threads of the engine (1)
  --docker SOCKET       Docker, which runs NFs in containers (${DOCKER})
  --nf-image FILE         image of those NFs, with its program beside it (${NF_IMAGE})
  --images DIR            images of catalogue NFs, made by npm run build:images, for a Docker that lacks them (${IMAGES})
  --docker-config FILE    configuration of a Docker client (config.json) with passwords of registries (default: none)
  --legacy-nfs on|off   runs programs of NFs that users describe, as root in a namespace, and images that they name
                        (twin: on, live: off)
  --nf-shell on|off     lets administrators of the console open a shell in containers of programs and images
                        (twin: on, live: off)
  --boards FILE         FPGA boards of this node (JSON; see README.md)
  --on-exit keep|stop   what happens to the engine when the agent stops (twin: stop, live: keep)
  --help

Flags can also be set as environment variables: ORRERY_SERVER, ORRERY_NODE, ORRERY_STATE_DIR and so on.`;

/** Longest path of a unix socket, without the final NUL (unix(7)). */
const SOCKET_PATH_LIMIT = 107;

const directory = (flag: string) =>
  z
    .string({ error: `${flag} is missing` })
    .min(1)
    .transform((path) => resolve(path));
const text = (flag: string) => z.string({ error: `${flag} is missing` });
const oneOf = <T extends readonly [string, ...string[]]>(flag: string, values: T) =>
  z.enum(values, { error: `${flag} must be ${values.join(' or ')}` });

export const isServerUrl = (url: string) =>
  /^ws\+unix:\/[^\s:]+:\/[^\s]*$/.test(url) || (/^wss?:\/\/[^\s#]+$/.test(url) && URL.canParse(url));

const Options = z.object({
  server: text('--server').refine(isServerUrl, '--server must be ws://HOST..., wss://HOST... or ws+unix:/SOCKET:/PATH'),
  node: text('--node').pipe(
    z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, `--node ${Name.safeParse('').error!.issues[0]!.message}`),
  ),
  origin: text('--origin').pipe(oneOf('--origin', Origin.options as ['twin', 'live'])),
  iface: text('--iface').pipe(z.string().regex(/^[^\s/]{1,15}$/, '--iface must be an interface name')),
  'state-dir': directory('--state-dir'),
  'run-dir': directory('--run-dir'),
  ca: z.string().min(1, '--ca must be a file').optional(),
  'join-token': z.string().max(200, '--join-token has at most 200 characters').optional(),
  engine: z.string().min(1).default(ENGINE),
  memory: oneOf('--memory', MEMORY).default('auto'),
  workers: z.coerce
    .number('--workers must be a number')
    .int('--workers must be whole')
    .min(1, '--workers is at least 1')
    .max(64, '--workers is at most 64')
    .default(1),
  docker: z.string().min(1, '--docker must be a socket').default(DOCKER),
  'nf-image': z.string().min(1, '--nf-image must be a file').default(NF_IMAGE),
  images: z.string().min(1, '--images must be a folder').default(IMAGES),
  'docker-config': z.string().min(1, '--docker-config must be a file').optional(),
  'legacy-nfs': oneOf('--legacy-nfs', ['on', 'off'] as const).optional(),
  'nf-shell': oneOf('--nf-shell', ['on', 'off'] as const).optional(),
  boards: z.string().min(1, '--boards must be a file').optional(),
  'on-exit': oneOf('--on-exit', ['keep', 'stop'] as const).optional(),
});

export interface AgentOptions {
  server: string;
  node: string;
  origin: Origin;
  iface: string;
  state_dir: string;
  run_dir: string;
  /** PEM; `undefined`: Node's own list. */
  ca: string | undefined;
  join_token: string | null;
  engine: string;
  memory: (typeof MEMORY)[number];
  workers: number;
  docker: string;
  nf_image: string;
  images: string;
  docker_config: string | null;
  /** Whether it runs the programs of descriptors that users wrote. */
  legacy_nfs: boolean;
  /** Whether administrators may open shells in containers. */
  nf_shell: boolean;
  boards: string | null;
  on_exit: 'keep' | 'stop';
}

/** Null: help was requested. Throws a UsageError that names every bad flag. */
export function readOptions(args: string[], env: NodeJS.ProcessEnv): AgentOptions | null {
  const flags = Object.keys(Options.shape);
  const given = parse(args, flags);
  if (given.help) return null;
  const values = Object.fromEntries(
    flags.map((flag) => [flag, given[flag] ?? env[`ORRERY_${flag.replaceAll('-', '_').toUpperCase()}`]]),
  );
  const parsed = Options.safeParse(values);
  if (!parsed.success) throw new UsageError(parsed.error.issues.map(({ message }) => message).join('\n'));
  const options = parsed.data;
  const socket = `${controlSocket(join(options['run-dir'], NFS_FOLDER), 'longest')}${HEARTBEAT_SUFFIX}`;
  if (Buffer.byteLength(socket) > SOCKET_PATH_LIMIT)
    throw new UsageError(`--run-dir is too long: ${socket} must have at most ${SOCKET_PATH_LIMIT} bytes`);
  return {
    server: options.server,
    node: options.node,
    origin: options.origin,
    iface: options.iface,
    state_dir: options['state-dir'],
    run_dir: options['run-dir'],
    ca: authorities(options),
    join_token: options['join-token'] || null,
    engine: resolve(options.engine),
    memory: options.memory,
    workers: options.workers,
    docker: resolve(options.docker),
    nf_image: resolve(options['nf-image']),
    images: resolve(options.images),
    docker_config: options['docker-config'] === undefined ? null : resolve(options['docker-config']),
    legacy_nfs: (options['legacy-nfs'] ?? (options.origin === 'twin' ? 'on' : 'off')) === 'on',
    nf_shell: (options['nf-shell'] ?? (options.origin === 'twin' ? 'on' : 'off')) === 'on',
    boards: options.boards ?? null,
    on_exit: options['on-exit'] ?? (options.origin === 'twin' ? 'stop' : 'keep'),
  };
}

/** Throws a UsageError when the file cannot be used, or when the connection has no certificate to check. */
export function authorities({ server, ca }: { readonly server: string; readonly ca?: string }): string | undefined {
  const isTls = server.startsWith('wss:');
  if (ca !== undefined && !isTls) throw new UsageError('--ca needs a server of wss://');
  try {
    return isTls ? trustedAuthorities(ca ?? null) : undefined;
  } catch (error) {
    throw new UsageError(`--ca ${(error as Error).message}`);
  }
}

function parse(args: string[], flags: string[]): Record<string, string | boolean | undefined> {
  const string = flags.map((flag) => [flag, { type: 'string' as const }]);
  const config = { help: { type: 'boolean' as const }, ...Object.fromEntries(string) };
  try {
    return parseArgs({ args, options: config, strict: true }).values as Record<string, string | boolean | undefined>;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
