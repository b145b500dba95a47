import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Infrastructure } from '@orrery/contract';
import { REPOSITORY_ROOT } from '../platform/config.js';
import { TestServer } from './server.js';
import { until } from './wait.js';

const AGENTS = join(REPOSITORY_ROOT, 'agents');
/** The program of the driver `p4`. */
export const P4_SWITCH = process.env.ORRERY_P4_SWITCH_COMMAND ?? join(AGENTS, 'build/p4/switch/orrery-p4-switch');
const NEEDED = [
  join(AGENTS, 'node/dist/agent.mjs'),
  process.env.ORRERY_ENGINE ?? join(AGENTS, 'build/engine/orrery-engine'),
  '/usr/share/openvswitch/vswitch.ovsschema',
];
const NEEDED_BY_P4 = [join(AGENTS, 'node/generated/p4runtime.json'), P4_SWITCH];

/** Why the real twin cannot run here, with P4 switches where `p4`; null when it can. */
export function twinLabMissing({ p4 = false } = {}): string | null {
  if (process.getuid?.() !== 0) return 'needs root';
  const missing = [...NEEDED, ...(p4 ? NEEDED_BY_P4 : [])].filter((path) => !existsSync(path));
  return missing.length > 0 ? `needs ${missing.join(', ')}` : null;
}

/** A server with the real twin, whose agents, engines and switches are real too. */
export function startTwinLab(): Promise<TestServer> {
  const env = {
    ORRERY_TWIN: 'on',
    ORRERY_TWIND: join(REPOSITORY_ROOT, 'twin/bin/twin-launcher'),
    ORRERY_STEP_TIMEOUT_MS: '20000',
    ORRERY_AGENT_STALE_MS: '5000',
  };
  return TestServer.start({ env });
}

/** Resolves when the twin is built like this, every agent is connected, and the switches of the fabric hold what is planned. */
export async function buildTwin(server: TestServer, infrastructure: Infrastructure): Promise<void> {
  await server.api.call('putInfrastructure', { body: infrastructure });
  await isBuilt(server, infrastructure);
}

export async function isBuilt(server: TestServer, infrastructure: Infrastructure): Promise<void> {
  const { servers, switches, hosts } = infrastructure;
  const ids = (all: readonly { id: string }[]) =>
    all
      .map(({ id }) => id)
      .sort()
      .join();
  await until('the twin is built, and its agents are connected', async () => {
    const { state } = await server.api.call('getTwin');
    const { items } = await server.api.call('listNodes', { query: { limit: 100 } });
    return (
      state?.phase === 'up' &&
      ids(state.nodes.filter(({ kind }) => kind === 'host')) === ids(hosts) &&
      ids(items) === ids([...servers, ...switches]) &&
      items.every((node) => node.state === 'connected')
    );
  });
  await until('the switches run their drivers, and hold what is planned', async () => {
    const { items } = await server.api.call('listSwitches', { query: { limit: 100 } });
    return switches
      .filter(({ program }) => program === undefined)
      .every(({ id, driver }) => {
        const now = items.find((one) => one.id === id);
        return (
          now?.connected &&
          now.description?.driver === driver &&
          now.planned !== null &&
          now.observed?.state === 'converged' &&
          now.observed.generation === now.planned.generation &&
          now.observed.entries === now.planned.entries
        );
      });
  });
}

interface Process {
  readonly pid: number;
  readonly command: string;
}

/** Processes of a program in the twin of the server, by the end of the program's path. */
export function twinProcesses(server: TestServer, program: string): Process[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const command = commandOf(pid);
      const isOne = command.split('\0')[0]!.endsWith(program) && isBelow(pid, server.scratch.path);
      return isOne ? [{ pid: Number(pid), command }] : [];
    } catch {
      // It has ended.
      return [];
    }
  });
}

const commandOf = (pid: string) => readFileSync(`/proc/${pid}/cmdline`, 'utf8');

/** Words of a command that run what follows them in the network namespace of a host of the twin. */
export function insideHost(server: TestServer, node: string): string[] {
  const shell = twinProcesses(server, '').find(({ command }) => command.split('\0').includes(`mininet:${node}`));
  if (!shell) throw new Error(`the twin has no host ${node}`);
  return ['nsenter', '-t', String(shell.pid), '-n'];
}

/** Whether the process or one that it comes from names the path. */
function isBelow(pid: string, path: string): boolean {
  if (commandOf(pid).includes(path)) return true;
  const parent = /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return Number(parent) > 1 && isBelow(parent, path);
}
