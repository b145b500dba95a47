import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { FABRIC_GATEWAY_MAC, type Infrastructure } from '@orrery/contract';
import { ECHO } from './numbered-flows.js';
import type { TestServer } from './server.js';
import { until } from './wait.js';

const AGENTS = resolve(import.meta.dirname, '../../../../agents');
const AGENT = join(AGENTS, 'node/dist/agent.mjs');
const ENGINE = process.env.ORRERY_ENGINE ?? join(AGENTS, 'build/engine/orrery-engine');
const PYTHON = '/usr/bin/python3';
const SCHEMA = '/usr/share/openvswitch/vswitch.ovsschema';
const BRIDGE = 'br0';

/** Why a live site cannot be set up here; null when it can. */
export function siteMissing(): string | null {
  const needed = [AGENT, ENGINE, SCHEMA, PYTHON].filter((path) => !existsSync(path));
  if (process.getuid?.() !== 0) return 'needs root';
  return needed.length > 0 ? `needs ${needed.join(', ')}` : null;
}

/** How an agent reaches the server, apart from its one-time token. */
export interface AgentConnection {
  readonly url: string;
  readonly arguments: readonly string[];
}

/**
 * An infrastructure without twind: a network namespace for each node, one Open vSwitch, and the real agents. Precondition: one
 * switch, to which every other node has one link from its port `eth0`.
 */
export class LiveSite {
  readonly directory = mkdtempSync('/tmp/orl-');
  /** The newest agent of each node. */
  readonly agents = new Map<string, ChildProcess>();
  private readonly children: ChildProcess[] = [];
  private readonly namespaces: string[] = [];
  private readonly ovs = join(this.directory, 'ovs');
  private readonly tor: string;

  constructor(
    private readonly infrastructure: Infrastructure,
    private readonly server: TestServer,
  ) {
    this.tor = infrastructure.switches[0]!.id;
  }

  namespaceOf(node: string): string {
    return `orl${process.pid}-${node}`;
  }

  async setUp(): Promise<void> {
    const { links } = this.infrastructure;
    for (const node of [this.tor, ...links.map(({ a }) => a.node)]) {
      execFileSync('ip', ['netns', 'add', this.namespaceOf(node)]);
      this.namespaces.push(this.namespaceOf(node));
    }
    mkdirSync(this.ovs);
    execFileSync('ovsdb-tool', ['create', join(this.ovs, 'conf.db'), SCHEMA]);
    const quiet = ['-vsyslog:off', '-vfile:off', '-vconsole:off', '--pidfile'];
    this.start(this.tor, 'ovsdb-server', `${this.ovs}/conf.db`, `--remote=punix:${this.ovs}/db.sock`, ...quiet);
    await until('the database', () => existsSync(`${this.ovs}/db.sock`));
    this.vsctl('--no-wait', 'init');
    this.start(this.tor, 'ovs-vswitchd', `unix:${this.ovs}/db.sock`, ...quiet);
    this.vsctl('add-br', BRIDGE, '--', 'set', 'Bridge', BRIDGE, 'datapath_type=netdev', 'fail_mode=secure');
    this.vsctl('set', 'Bridge', BRIDGE, 'protocols=OpenFlow15');
    for (const { a, b } of links) this.plug(a.node, b.port);
    this.vsctl(...links.flatMap(({ b }, i) => [...(i > 0 ? ['--'] : []), ...this.addPort(b.port, i + 1)]));
  }

  /** OpenFlow numbers are those of the links, from 1. */
  private addPort(port: string, number: number): string[] {
    return ['add-port', BRIDGE, port, '--', 'set', 'Interface', port, `ofport_request=${number}`];
  }

  private plug(node: string, port: string): void {
    const [near, far] = [this.namespaceOf(this.tor), this.namespaceOf(node)];
    execFileSync('ip', ['-n', near, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', far]);
    const host = this.infrastructure.hosts.find(({ id }) => id === node);
    if (host) execFileSync('ip', ['-n', far, 'link', 'set', 'eth0', 'address', host.mac]);
    execFileSync('ip', ['-n', near, 'link', 'set', port, 'addrgenmode', 'none', 'up']);
    execFileSync('ip', ['-n', far, 'link', 'set', 'eth0', 'addrgenmode', 'none', 'up']);
    // A switch without segmentation offload needs frames with complete checksums.
    execFileSync('ip', ['netns', 'exec', far, 'ethtool', '-K', 'eth0', 'tx', 'off']);
    if (host) {
      const ip = (...args: string[]) => execFileSync('ip', ['-n', far, ...args]);
      ip('address', 'add', `${host.addresses[0]!.address}/32`, 'dev', 'eth0');
      ip('neighbour', 'add', '169.254.0.1', 'lladdr', FABRIC_GATEWAY_MAC, 'dev', 'eth0', 'nud', 'permanent');
      ip('route', 'add', 'default', 'via', '169.254.0.1', 'dev', 'eth0', 'onlink');
    }
  }

  /** The server's own socket, which every namespace reaches. */
  private get local(): AgentConnection {
    return { url: `ws+unix:${this.server.scratch.runDir}/agents.sock:/api/v1/agent`, arguments: [] };
  }

  /** As the units in packaging/systemd do, each with its one-time token. */
  async enrol(): Promise<void> {
    for (const { id } of this.infrastructure.servers) await this.startServerAgent(id);
    await this.startSwitchAgent();
    await this.connected();
  }

  async connected(nodes = this.infrastructure.servers.length + 1): Promise<void> {
    await until(
      'every agent is connected',
      async () => {
        const { items } = await this.server.api.call('listNodes');
        return items.length === nodes && items.every(({ state }) => state === 'connected');
      },
      60_000,
    ).catch((error: Error) => {
      throw new Error(`${error.message}\n${this.log.slice(-2000)}`);
    });
  }

  async startServerAgent(id: string, connection = this.local): Promise<ChildProcess> {
    return this.serverAgent(id, connection, ['--join-token', await this.token(id)]);
  }

  /** An agent that has joined before: it proves itself by what its state directory holds. */
  startServerAgentAgain(id: string): ChildProcess {
    return this.serverAgent(id, this.local, []);
  }

  /** Stops its agent, which stops what it runs. */
  async stopServerAgent(id: string): Promise<void> {
    const agent = this.agents.get(id)!;
    const ended = once(agent, 'exit');
    agent.kill('SIGTERM');
    await ended;
  }

  private serverAgent(id: string, { url, arguments: more }: AgentConnection, proof: string[]): ChildProcess {
    const directory = join(this.directory, id);
    const files = ['--run-dir', `${directory}/r`, '--state-dir', `${directory}/s`, '--engine', ENGINE];
    const about = ['--server', url, '--node', id, '--origin', 'live', '--iface', 'eth0', '--memory', 'no-huge'];
    const rest = ['--docker', '/no/docker', '--on-exit', 'stop', ...proof, ...more];
    return this.agent(id, ...about, ...files, ...rest);
  }

  async startSwitchAgent(connection = this.local): Promise<ChildProcess> {
    return this.switchAgent(connection, { join_token: await this.token(this.tor) });
  }

  startSwitchAgentAgain(): ChildProcess {
    return this.switchAgent(this.local, {});
  }

  private switchAgent({ url, arguments: more }: AgentConnection, proof: { join_token?: string }): ChildProcess {
    const switches = join(this.directory, 'switches.json');
    const tor = { node: this.tor, driver: 'ovs', bridge: BRIDGE, run_dir: this.ovs, ...proof };
    writeFileSync(switches, JSON.stringify([tor]), { mode: 0o600 });
    const files = ['--switches', switches, '--state-dir', join(this.directory, this.tor)];
    return this.agent(this.tor, 'switches', '--server', url, '--origin', 'live', ...files, ...more);
  }

  private agent(node: string, ...args: string[]): ChildProcess {
    const child = this.start(node, process.execPath, AGENT, ...args);
    this.agents.set(node, child);
    return child;
  }

  private async token(node: string): Promise<string> {
    return (await this.server.api.call('createJoinToken', { body: { node } })).token;
  }

  echo(node: string): void {
    this.start(node, PYTHON, '-c', ECHO);
  }

  /** Whether three datagrams of one host are answered by the address. */
  isAnswered(from: string, address: string): boolean {
    const ask = [
      'import socket',
      `s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.connect(('${address}', 7))`,
      "for n in range(3): s.send(b'%d' % n); assert s.recv(9) == b'%d' % n",
    ].join('\n');
    try {
      execFileSync('ip', ['netns', 'exec', this.namespaceOf(from), PYTHON, '-c', ask], { stdio: 'pipe' });
      return true;
    } catch {
      return false;
    }
  }

  /** Serves a page that caches may keep for hours; each request is a line of the log. */
  serve(node: string, page: string): void {
    const file = join(this.directory, page);
    writeFileSync(file, page);
    // What has not changed for so long is believed to remain fresh for a share of that time (RFC 9111 4.2.2).
    utimesSync(file, 1e9, 1e9);
    this.start(node, PYTHON, '-m', 'http.server', '80', '--directory', this.directory);
  }

  /** What a host gets for a page, with what a cache says of it; null: nothing. */
  async get(from: string, address: string, page: string): Promise<{ body: string; cache: string | null } | null> {
    const ask = [
      'import json, urllib.request',
      `r = urllib.request.urlopen('http://${address}/${page}', timeout=3)`,
      "print(json.dumps({'body': r.read().decode(), 'cache': r.headers.get('X-Cache')}))",
    ].join('\n');
    try {
      const command = ['netns', 'exec', this.namespaceOf(from), PYTHON, '-c', ask];
      return JSON.parse((await promisify(execFile)('ip', command)).stdout);
    } catch {
      return null;
    }
  }

  /** Flows of the bridge, one line each. */
  flows(): string[] {
    const target = `unix:${this.ovs}/${BRIDGE}.mgmt`;
    const options = { maxBuffer: 64 * 1024 * 1024 };
    const text = execFileSync('ovs-ofctl', ['-O', 'OpenFlow15', 'dump-flows', target], options).toString();
    return text.split('\n').filter((line) => line.includes('cookie='));
  }

  /** Number of packets that matched chain classes, and of tagged flows. */
  steering(): { flows: number; packets: number } {
    const lines = this.flows().filter((line) => line.includes('set_field:02:0e:00'));
    const packets = lines.map((line) => Number(/n_packets=(\d+)/.exec(line)![1]));
    return { flows: lines.length, packets: packets.reduce((a, b) => a + b, 0) };
  }

  /** Datapath actions of the bridge for each packet, according to `ovs-appctl ofproto/trace`. */
  async trace(packets: readonly string[]): Promise<string[]> {
    const pid = readFileSync(join(this.ovs, 'ovs-vswitchd.pid'), 'utf8').trim();
    const socket = connect(join(this.ovs, `ovs-vswitchd.${pid}.ctl`));
    try {
      let text = '';
      const answers: string[] = [];
      const ask = () => {
        const params = [BRIDGE, packets[answers.length]!];
        socket.write(JSON.stringify({ method: 'ofproto/trace', params, id: answers.length }));
      };
      return await new Promise((resolve, reject) => {
        socket.on('error', reject);
        socket.on('data', (chunk) => {
          text += chunk.toString();
          let reply: { result: string | null; error: string | null };
          try {
            reply = JSON.parse(text);
          } catch {
            return;
          }
          text = '';
          const actions = reply.result?.split('Datapath actions:')[1]?.trim();
          if (actions === undefined) return reject(new Error(`${packets[answers.length]}: ${reply.error}`));
          answers.push(actions);
          if (answers.length === packets.length) resolve(answers);
          else ask();
        });
        ask();
      });
    } finally {
      socket.destroy();
    }
  }

  private vsctl(...args: string[]): void {
    execFileSync('ovs-vsctl', [`--db=unix:${this.ovs}/db.sock`, '--timeout=20', '--retry', ...args]);
  }

  private start(node: string, program: string, ...args: string[]): ChildProcess {
    const log = openSync(join(this.directory, 'log'), 'a');
    const env = { ...process.env, OVS_RUNDIR: this.ovs };
    const command = ['netns', 'exec', this.namespaceOf(node), program, ...args];
    const child = spawn('ip', command, { env, stdio: ['ignore', log, log] });
    this.children.push(child);
    return child;
  }

  get log(): string {
    return readFileSync(join(this.directory, 'log'), 'utf8');
  }

  /** Ends what runs in the namespaces, which are the site's own. */
  async tearDown(): Promise<void> {
    for (const child of this.children.toReversed()) child.kill('SIGTERM');
    for (const namespace of this.namespaces) {
      await until('processes end', () => {
        const pids = execFileSync('ip', ['netns', 'pids', namespace]).toString().split('\n').filter(Boolean);
        for (const pid of pids) {
          try {
            process.kill(Number(pid), 'SIGKILL');
          } catch {
            // It has just ended.
          }
        }
        return pids.length === 0;
      });
      execFileSync('ip', ['netns', 'del', namespace]);
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}
