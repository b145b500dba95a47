import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { trustOf } from './client-address.js';

export const CONFIG = Symbol('Config');

/** Folders of the NFs that come with Orrery. */
const CATALOGUE = 'agents/nfs:agents/node/process-nfs:agents/node/container-nfs';

/** Settings of one server process. Directories are absolute. */
export interface Config {
  readonly version: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Certificate chain and private key, as PEM; null: plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** Sockets; short, because a unix socket path ends at 107 bytes. */
  readonly runDir: string;
  /** The store, uploads and the admin secret. */
  readonly stateDir: string;
  /** null: a private Redis is started. */
  readonly redisUrl: string | null;
  /** Limit of the private Redis. */
  readonly storeMemoryBytes: number;
  /** Token that may read `/metrics`; null: sessions only. */
  readonly metricsToken: string | null;
  readonly catalogue: readonly string[];
  /** Directory of the P4 programs that come with Orrery. */
  readonly p4Examples: string;
  /** Folder with information about board modules: `modules.json` and `results/`. */
  readonly synthesis: string;
  readonly consoleDir: string;
  /** `launcher`: program that starts the twin; null: something else runs it. */
  readonly twin: { readonly enabled: boolean; readonly launcher: string | null };
  /** Addresses and prefixes of reverse proxies whose `X-Forwarded-*` headers count. */
  readonly trustedProxies: readonly string[];
  readonly logLevel: string;
  readonly timing: Timing;
}

export interface Timing {
  /** An agent that is silent for this long is stale. */
  readonly agentStaleMs: number;
  /** Time that nodes and fabric have for a step before the operation is FAILED_TEMP. */
  readonly stepTimeoutMs: number;
  readonly sloPeriodMs: number;
  /** Objectives are judged when what runs has carried packets for this long. */
  readonly sloWarmUpMs: number;
  /** A request whose headers or body make no progress for this long is refused with 408. */
  readonly requestStallMs: number;
}

export class ConfigError extends Error {}

export const HELP = `orrery-server: API, console, and control of agents and twin

Usage: node backend/server/dist/main.js [--help] [--version] [--new-secret]

  --new-secret   replaces the admin secret of a stopped server and ends every session

Environment
  ORRERY_HOST        address to listen on (127.0.0.1)
  ORRERY_PORT        port (8080; 0 chooses a free one)
  ORRERY_TLS_CERT    certificate chain (PEM) for https:// and wss://; with ORRERY_TLS_KEY, its private key (plain HTTP)
  ORRERY_RUN_DIR     directory of the sockets; a short path, mode 0700 if it exists (/run/orrery or /tmp/orrery-UID)
  ORRERY_STATE_DIR   durable state (.orrery/state)
  REDIS_URL          use this Redis 7 instead of a private one (run it with appendfsync always, or acknowledged changes can be lost)
  ORRERY_CATALOGUE   folders of NFs with */descriptor.json, separated by ":"
                     (${CATALOGUE})
  ORRERY_SYNTHESIS   folder with modules.json and the results of the open-source FPGA flow (fpga/syn)
  ORRERY_CONSOLE     folder of the built console (frontend/dist)
  ORRERY_TWIN        "off": no twin; everything else works. "external": twind is started by something else, with its socket in ORRERY_RUN_DIR (on)
  ORRERY_TWIND       program that starts the twin (twin/bin/twin-launcher)
  ORRERY_STORE_MEMORY_MB   memory of the private Redis, which refuses changes beyond it (1024)
  ORRERY_METRICS_TOKEN     bearer token with which Prometheus reads /metrics, and nothing else (none: a session is needed)
  ORRERY_TRUSTED_PROXIES   addresses or prefixes of reverse proxies whose X-Forwarded-For is believed, separated by "," (none)
  ORRERY_LOG_LEVEL   trace, debug, info, warn, error (info)
  ORRERY_STEP_TIMEOUT_MS   time for a deployment step before the operation is FAILED_TEMP (15000)`;

const SOCKET_PATH_MAX_BYTES = 107;
const packageRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const REPOSITORY_ROOT = resolve(packageRoot, '../..');

/** Settings from the environment. Throws ConfigError naming the variable. */
export function configFrom(env: NodeJS.ProcessEnv): Config {
  const path = (name: string, fallback: string) => resolve(REPOSITORY_ROOT, env[name] || fallback);
  const integer = (name: string, fallback: number, max: number) => {
    const value = env[name] ? Number(env[name]) : fallback;
    if (!Number.isInteger(value) || value < 0 || value > max)
      throw new ConfigError(`${name}: ${env[name]} is not an integer from 0 to ${max}`);
    return value;
  };
  const isRoot = process.getuid?.() === 0;
  const runDir = path('ORRERY_RUN_DIR', isRoot ? '/run/orrery' : `/tmp/orrery-${userInfo().uid}`);
  if (Buffer.byteLength(join(runDir, 'agents.sock')) > SOCKET_PATH_MAX_BYTES)
    throw new ConfigError(`ORRERY_RUN_DIR: ${runDir} is too long for unix sockets`);
  const twin = env.ORRERY_TWIN || 'on';
  if (!['on', 'off', 'external'].includes(twin))
    throw new ConfigError(`ORRERY_TWIN: ${twin} is none of "on", "off" and "external"`);
  const catalogue = (env.ORRERY_CATALOGUE || CATALOGUE).split(':').filter(Boolean);
  return {
    version: (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }).version,
    host: env.ORRERY_HOST || '127.0.0.1',
    port: integer('ORRERY_PORT', 8080, 65535),
    tls: tlsFrom(env),
    runDir,
    stateDir: path('ORRERY_STATE_DIR', '.orrery/state'),
    redisUrl: env.REDIS_URL || null,
    storeMemoryBytes: integer('ORRERY_STORE_MEMORY_MB', 1024, 1_048_576) * 1024 ** 2,
    metricsToken: metricsTokenFrom(env.ORRERY_METRICS_TOKEN),
    catalogue: catalogue.map((entry) => (isAbsolute(entry) ? entry : resolve(REPOSITORY_ROOT, entry))),
    synthesis: path('ORRERY_SYNTHESIS', 'fpga/syn'),
    p4Examples: path('ORRERY_P4_EXAMPLES', 'twin/p4/examples'),
    consoleDir: path('ORRERY_CONSOLE', 'frontend/dist'),
    twin: {
      enabled: twin !== 'off',
      launcher: twin === 'external' ? null : path('ORRERY_TWIND', 'twin/bin/twin-launcher'),
    },
    trustedProxies: proxiesFrom(env.ORRERY_TRUSTED_PROXIES),
    logLevel: env.ORRERY_LOG_LEVEL || 'info',
    timing: {
      agentStaleMs: integer('ORRERY_AGENT_STALE_MS', 2000, 3_600_000),
      stepTimeoutMs: integer('ORRERY_STEP_TIMEOUT_MS', 15_000, 3_600_000),
      requestStallMs: integer('ORRERY_REQUEST_STALL_MS', 10_000, 60_000),
      sloPeriodMs: integer('ORRERY_SLO_PERIOD_MS', 1000, 60_000),
      sloWarmUpMs: integer('ORRERY_SLO_WARM_UP_MS', 10_000, 600_000),
    },
  };
}

function metricsTokenFrom(token = ''): string | null {
  if (token === '') return null;
  if (!/^[A-Za-z0-9_-]{32,200}$/.test(token))
    throw new ConfigError('ORRERY_METRICS_TOKEN: must have 32 to 200 characters of A-Z, a-z, 0-9, "_" and "-"');
  return token;
}

function proxiesFrom(text = ''): string[] {
  const proxies = text.split(',').flatMap((each) => each.trim() || []);
  for (const proxy of proxies) {
    try {
      trustOf([proxy]);
    } catch {
      throw new ConfigError(
        `ORRERY_TRUSTED_PROXIES: ${proxy} is neither an IP address nor a prefix such as 10.0.0.0/8`,
      );
    }
  }
  return proxies;
}

function tlsFrom(env: NodeJS.ProcessEnv): Config['tls'] {
  const { ORRERY_TLS_CERT: cert, ORRERY_TLS_KEY: key } = env;
  if (!cert && !key) return null;
  if (!cert || !key) throw new ConfigError(`${cert ? 'ORRERY_TLS_KEY' : 'ORRERY_TLS_CERT'}: is missing`);
  const pem = {
    cert: readPem('ORRERY_TLS_CERT', cert, (text) => new X509Certificate(text)),
    key: readPem('ORRERY_TLS_KEY', key, createPrivateKey),
  };
  if (!new X509Certificate(pem.cert).checkPrivateKey(createPrivateKey(pem.key)))
    throw new ConfigError('ORRERY_TLS_KEY: is not the key of ORRERY_TLS_CERT');
  return pem;
}

function readPem(name: string, path: string, check: (text: string) => unknown): string {
  try {
    const text = readFileSync(path, 'utf8');
    check(text);
    return text;
  } catch (error) {
    throw new ConfigError(`${name}: ${path} cannot be used: ${(error as Error).message}`);
  }
}
