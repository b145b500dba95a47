import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { until } from '../client.mjs';
import { Stack } from '../stack.mjs';
import { cpuSeconds, freePort } from './measure.mjs';

/** So much that no link ever limits what a switch forwards. */
const NEVER_FULL_BPS = 100e9;
const CLIENT = { id: 'client-1', address: '10.0.1.1', mac: '02:00:0a:00:01:01', role: 'client' };
const WEB = { id: 'web-1', address: '10.0.2.1', mac: '02:00:0a:00:02:01', role: 'server' };
const SERVER = 'server-1';
const SWITCH = 'leaf-1';

/** What forwards, by driver, as the kernel names its process. */
const PROCESSES = { ovs: 'ovs-vswitchd', p4: 'orrery-p4-switc', bmv2: 'simple_switch_g' };

/** A chain of these NFs from the client to the web server. */
function chainOf(nfs) {
  const inner = nfs.map((nf, i) => ({ id: `nf${i + 1}`, kind: 'nf', ...nf }));
  const nodes = [{ id: 'in', kind: 'ingress' }, ...inner, { id: 'out', kind: 'egress' }];
  return {
    name: 'bench',
    title: 'Benchmark',
    traffic_class: { from: [CLIENT.id], match: [{ attribute: 'ip.dst', value: WEB.address }], rate_bps: 1_000_000 },
    nodes,
    edges: nodes.slice(1).map(({ id: to }, i) => ({ id: `e${i + 1}`, from: nodes[i].id, to })),
  };
}

function topology(driver) {
  const nodes = [SERVER, CLIENT.id, WEB.id];
  return {
    name: 'bench-fabric',
    servers: [
      {
        id: SERVER,
        title: 'Server',
        origin: 'twin',
        cores: 4,
        ghz: 3,
        memory_bytes: 2 ** 31,
        nics: [{ name: 'nic0', bandwidth_bps: NEVER_FULL_BPS }],
      },
    ],
    boards: [],
    switches: [
      {
        id: SWITCH,
        title: 'Leaf',
        origin: 'twin',
        driver,
        ports: 8,
        table_entries: 4096,
        actions: ['forward', 'rewrite', 'mirror', 'group', 'meter'],
      },
    ],
    hosts: [CLIENT, WEB].map(({ id, address, mac, role }) => ({
      id,
      title: id,
      origin: 'twin',
      role,
      addresses: [{ address }],
      mac,
    })),
    links: nodes.map((node, i) => ({
      id: `${node}-${SWITCH}`,
      a: { node, port: 'nic0' },
      b: { node: SWITCH, port: `p${i + 1}` },
      bandwidth_bps: NEVER_FULL_BPS,
    })),
  };
}

/** Two hosts and a server at one switch in a twin; the driver of the switch changes. */
export class FabricNetwork {
  #stack;
  #driver;

  async start() {
    this.#stack = new Stack({ port: await freePort(), purpose: 'bench', twin: true });
    await this.#stack.start();
  }

  stop() {
    return this.#stack.stop();
  }

  /** Resolves when the switch forwards by this driver and holds all that is planned. */
  async use(driver) {
    this.#driver = driver;
    const { headers } = await this.#stack.request('GET', '/infrastructure');
    await this.#stack.api('PUT', '/infrastructure', topology(driver), { 'if-match': headers.get('etag') });
    await until(`the switch runs ${driver}`, async () => {
      const { items } = await this.#stack.api('GET', '/nodes');
      return items.length === 2 && items.every(({ state }) => state === 'connected') && (await this.#settled())
        ? true
        : null;
    });
  }

  async #settled() {
    const { description, planned, observed } = await this.#stack.api('GET', `/switches/${SWITCH}`);
    const holds = observed?.state === 'converged' && observed.generation === planned?.generation;
    return description?.driver === this.#driver && holds ? { planned: planned.entries, held: observed.entries } : null;
  }

  /** Seconds until a chain of two NFs runs, and entries of the switch then: {seconds, planned, held}. */
  deployChain() {
    return this.withChain([{ nf: 'monitor' }, { nf: 'monitor' }], async ({ seconds }) => {
      const entries = await until('the entries are counted', () => this.#settled());
      return { seconds, ...entries };
    });
  }

  /** What `work` gives while a chain of these NFs runs; it is told how long that took: {operation, asked_ms, seconds}. */
  async withChain(nfs, work) {
    const { id: chain_id } = await this.#stack.api('POST', '/chains', chainOf(nfs));
    const asked_ms = Date.now();
    const { id: operation } = await this.#stack.api('POST', '/deployments', { chain_id });
    await this.#stack.operation(operation);
    const result = await work({ operation, asked_ms, seconds: (Date.now() - asked_ms) / 1000 });
    const removal = await this.#stack.api('DELETE', `/deployments/${chain_id}`);
    await this.#stack.operation(removal.id);
    await this.#stack.api('DELETE', `/chains/${chain_id}`);
    return result;
  }

  /** The operation once a packet has crossed what it deployed. */
  firstPacket(operation) {
    return this.#stack.firstPacket(operation);
  }

  get serverPid() {
    return this.#stack.serverPid;
  }

  /** Web pages of one host, and probes from the other, so that a chain has packets as soon as it runs. */
  async startProbes() {
    for (const [kind, node, config] of [
      ['http-server', WEB.id, {}],
      ['probe-server', WEB.id, {}],
      ['probe', CLIENT.id, { to: WEB.id, rate_per_s: 100 }],
    ])
      await this.#stack.api('POST', '/applications', { id: kind, kind, node, config });
  }

  /** Metrics of an HTTP client that has ended, by name. */
  async requests(config) {
    const id = 'requests';
    await this.#stack.api('POST', '/applications', { id, kind: 'http-client', node: CLIENT.id, config });
    const { metrics } = await until('the end of the requests', async () => {
      const { status } = await this.#stack.api('GET', `/applications/${id}`);
      return status.state === 'completed' ? status : null;
    });
    await this.#stack.api('DELETE', `/applications/${id}`);
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  }

  /** CPU time in seconds that the switch has used. */
  switchSeconds() {
    const found = this.#stack.processes().filter((pid) => fileOf(pid, 'comm').trim() === PROCESSES[this.#driver]);
    return found.reduce((sum, pid) => sum + cpuSeconds(`/proc/${pid}`), 0);
  }

  /** The two hosts: {client, web}. */
  async hosts() {
    const { state } = await this.#stack.api('GET', '/twin');
    const host = ({ id, address }) => {
      const { pid } = state.nodes.find((node) => node.id === id);
      return new Host(this.#outside(pid), address);
    };
    return { client: host(CLIENT), web: host(WEB) };
  }

  /** Of a process as the twin numbers it. */
  #outside(pid) {
    return this.#stack.processes().find((each) => {
      const numbers = /^NSpid:\s*(.*)$/m.exec(fileOf(each, 'status'))?.[1].split(/\s+/) ?? [];
      return numbers.length > 1 && Number(numbers.at(-1)) === pid;
    });
  }
}

class Host {
  #pid;

  constructor(pid, address) {
    this.#pid = pid;
    this.address = address;
  }

  /** Frames that have arrived. */
  received() {
    const lines = fileOf(this.#pid, 'net/dev').split('\n').slice(2);
    const counts = lines.map((line) => line.trim().split(/[:\s]+/)).filter(([name]) => name && name !== 'lo');
    return counts.reduce((sum, [, , packets]) => sum + Number(packets), 0);
  }

  #inside(command, args) {
    return ['nsenter', [`--net=/proc/${this.#pid}/ns/net`, command, ...args]];
  }

  async run(command, args) {
    return (await promisify(execFile)(...this.#inside(command, args), { maxBuffer: 1 << 26 })).stdout;
  }

  /** Resolves when the program has printed its first line. `end` ends it. */
  async start(command, args) {
    const child = spawn(...this.#inside(command, args), { stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = once(child, 'close');
    await once(child.stdout, 'data');
    const end = async () => {
      child.kill('SIGTERM');
      await ended;
    };
    return { end };
  }
}

/** Empty if the process is gone. */
function fileOf(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
