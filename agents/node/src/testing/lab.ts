import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { GONE } from '../drivers/hosted-instances.js';
import { PACKAGE_ROOT } from '../package-root.js';
import { scratchDirectory, until } from './scratch.js';
import { TestServer } from './server.js';

const run = promisify(execFile);

export const ENGINE = process.env.ORRERY_ENGINE ?? resolve(PACKAGE_ROOT, '../build/engine/orrery-engine');
/** Created once before all tests. */
const BUNDLE = join(PACKAGE_ROOT, 'dist/agent.mjs');
const PACKETS = join(PACKAGE_ROOT, 'src/testing/packets.py');

/** Why lab tests cannot run here; null if they can. */
export function labMissing(): string | null {
  if (process.getuid?.() !== 0) return 'needs root for network namespaces';
  if (!existsSync(ENGINE)) return `needs the engine: ${ENGINE} is not built`;
  return null;
}

export interface Packet {
  dst_mac: string;
  src_mac: string;
  src: string;
  dst: string;
  number: number;
  ttl: number;
  sport: number;
  dport: number;
  intact: boolean;
}

export const NODE_MAC = '02:00:00:00:00:01';

/** Of thousands of packets. */
const MOST_OUTPUT_BYTES = 16 << 20;

let labs = 0;
let calls = 0;

/** A node in its own network namespace with one interface, and the other end of its cable in another namespace. */
export class Lab {
  readonly server = new TestServer();
  readonly directory = scratchDirectory();
  readonly run_dir = join(this.directory, 'r');
  /** Network namespace of the node. */
  readonly node: string;
  readonly outside: string;
  private readonly agents: ChildProcess[] = [];
  /** Whether agents see the control groups of the machine, which `ip netns exec` hides. */
  seesControlGroups = false;

  /** `sandbox` is a command prefix that runs another command in its own namespaces and ends everything in them. */
  constructor(protected readonly sandbox: readonly string[] = []) {
    const stem = `ora${process.pid}-${labs++}`;
    this.node = `${stem}n`;
    this.outside = `${stem}o`;
    onTestFinished(() => this.tearDown());
  }

  async setUp(): Promise<void> {
    for (const namespace of [this.node, this.outside]) this.run('ip', 'netns', 'add', namespace);
    this.plug();
    mkdirSync(this.run_dir);
    await this.server.listen(join(this.directory, 's'));
  }

  plug(): void {
    const ends = ['link', 'add', 'e0', 'netns', this.node, 'address', NODE_MAC, 'type', 'veth'];
    this.run('ip', ...ends, 'peer', 'name', 'p0', 'netns', this.outside);
    for (const [namespace, iface] of [
      [this.outside, 'p0'],
      [this.node, 'e0'],
    ] as const)
      this.run('ip', '-n', namespace, 'link', 'set', 'dev', iface, 'addrgenmode', 'none', 'up');
  }

  /** Changes the node's interface as an operator would. */
  setNic(...settings: string[]): void {
    this.run('ip', '-n', this.node, 'link', 'set', 'dev', 'e0', ...settings);
  }

  /** Sets the other end of the cable up or down. */
  setCable(state: 'up' | 'down'): void {
    this.run('ip', '-n', this.outside, 'link', 'set', 'dev', 'p0', state);
  }

  /** Removes the node's interface with its cable. */
  unplug(): void {
    this.run('ip', '-n', this.node, 'link', 'del', 'dev', 'e0');
  }

  async instanceState(instance_id: string): Promise<Record<string, unknown>> {
    const id = `call-${calls++}`;
    this.server.send({ type: 'call', id, method: 'get_instance_state', instance_id, params: {} });
    const { result, error } = await this.server.next('reply', (reply) => reply.id === id);
    if (error !== null) throw new Error(error);
    return result as Record<string, unknown>;
  }

  startAgent(...more: string[]): ChildProcess {
    const log = openSync(join(this.directory, 'agent.log'), 'a');
    const [command, ...args] = [
      ...[...this.sandbox, ...this.into, process.execPath, BUNDLE],
      ...['--node', 'n1', '--origin', 'twin', '--iface', 'e0'],
      ...['--server', this.server.url, '--state-dir', join(this.directory, 'st'), '--run-dir', this.run_dir],
      ...['--join-token', 'once', '--engine', ENGINE, '--memory', 'no-huge'],
      // Never the Docker of the machine.
      ...['--docker', join(this.directory, 'no-docker'), ...more],
    ];
    const agent = spawn(command!, args, { stdio: ['ignore', log, log] });
    this.agents.push(agent);
    return agent;
  }

  private get into(): string[] {
    const { node } = this;
    return this.seesControlGroups ? ['nsenter', `--net=/run/netns/${node}`, '--'] : ['ip', 'netns', 'exec', node];
  }

  /** Sends tagged packets into the node's cable and returns what comes out. */
  async exchange(options: Record<string, string | number>): Promise<Packet[]> {
    const flags = Object.entries({ iface: 'p0', ...options }).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
    const packets = ['ip', 'netns', 'exec', this.outside, '/usr/bin/python3', PACKETS, ...flags];
    const [command, ...args] = [...this.sandbox, ...packets];
    const { stdout } = await run(command!, args, { maxBuffer: MOST_OUTPUT_BYTES });
    return JSON.parse(stdout) as Packet[];
  }

  interfaces(): string[] {
    return [...this.interfaceIndices().keys()];
  }

  /** Resolves once the agent has looked at the interfaces of its node and of its instances: it repairs what is wrong with them. */
  async interfacesChecked(): Promise<void> {
    this.setNic('mtu', '1400');
    const isRepaired = () => this.run('ip', '-n', this.node, 'link', 'show', 'e0').includes('mtu 1500');
    await until('the interfaces are looked at', isRepaired, 40_000);
  }

  /** By name. */
  interfaceIndices(): Map<string, number> {
    const links = JSON.parse(this.run('ip', '-j', '-n', this.node, 'link')) as { ifname: string; ifindex: number }[];
    return new Map(links.filter(({ ifname }) => ifname !== 'lo').map(({ ifname, ifindex }) => [ifname, ifindex]));
  }

  enginePid(): number | null {
    try {
      return JSON.parse(readFileSync(join(this.run_dir, 'engine.pid'), 'utf8')).pid;
    } catch {
      return null;
    }
  }

  get agentLog(): string {
    return readFileSync(join(this.directory, 'agent.log'), 'utf8');
  }

  protected run(...command: string[]): string {
    const [program, ...args] = [...this.sandbox, ...command];
    return execFileSync(program!, args).toString();
  }

  /** Ends everything in this lab's two namespaces, and in those that its agents made, and removes them. */
  private async tearDown(): Promise<void> {
    for (const agent of this.agents) agent.kill('SIGKILL');
    for (const pid of hostedIn(this.run_dir)) kill(pid);
    for (const namespace of this.sandbox.length > 0 ? [] : [this.node, this.outside]) {
      await until('processes end', () => {
        const pids = execFileSync('ip', ['netns', 'pids', namespace]).toString().split('\n').filter(Boolean);
        for (const pid of pids) kill(Number(pid));
        return pids.length === 0;
      }).catch(() => undefined);
      await run('ip', ['netns', 'del', namespace]).catch(() => undefined);
    }
    await this.server.close();
  }
}

/** Processes of legacy NFs, which are in network namespaces of their own. */
function hostedIn(run_dir: string): number[] {
  const folder = join(run_dir, 'nf');
  const stems = (existsSync(folder) ? readdirSync(folder) : []).filter((name) => !name.includes(GONE));
  const files = stems.flatMap((stem) => ['holder.pid', 'nf.pid'].map((name) => join(folder, stem, name)));
  return files.filter((file) => existsSync(file)).map((file) => JSON.parse(readFileSync(file, 'utf8')).pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}

/** Resolves with how a child ended. */
export function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((done) => child.once('exit', done));
}
