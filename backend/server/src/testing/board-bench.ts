import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ChainDefinition,
  Infrastructure,
  type NfDescriptor,
  type Operation,
  type Reconfiguration,
  type RouteName,
} from '@orrery/contract';
import { REPOSITORY_ROOT } from '../platform/config.js';
import { type EventsOf, eventsOf } from './events.js';
import { FakeAgent } from './fake-agent.js';
import { FakeSwitch } from './fake-switch.js';
import { RACK } from './fixtures.js';
import { Scratch, TestServer } from './server.js';
import { until } from './wait.js';

export const BOARD = {
  id: 'board-1',
  origin: 'twin',
  server: 'server-1',
  device: 'test',
  slots: 1,
  clock_mhz: 100,
  resources: { lut: 1000 },
  bandwidth_bps: 1e9,
  latency_us: 1,
};
export const SLOT = { board: 'board-1', slot: 0 };
/** On another server, so that the boards can fail independently. */
export const OTHER_BOARD = { ...BOARD, id: 'board-2', server: 'server-2' };
export const OTHER_SLOT = { board: 'board-2', slot: 0 };

/** The monitor under two other names with an implementation for boards, and under its own without. */
function writeCatalogue(folder: string): void {
  const file = join(REPOSITORY_ROOT, 'agents/nfs/monitor/descriptor.json');
  const monitor = JSON.parse(readFileSync(file, 'utf8')) as NfDescriptor;
  const cost = { cycles_per_packet: 20, base_latency_us: 1, memory_bytes: 0 };
  const onBoard = { kind: 'board', driver: 'board', cost, resources: { lut: 500 } };
  for (const id of ['alpha', 'beta', 'monitor']) {
    const implementations = id === 'monitor' ? monitor.implementations : [...monitor.implementations, onBoard];
    mkdirSync(join(folder, id), { recursive: true });
    writeFileSync(join(folder, id, 'descriptor.json'), JSON.stringify({ ...monitor, id, title: id, implementations }));
  }
}

export function chainOf(nf: string, from: string): ChainDefinition {
  return ChainDefinition.parse({
    name: nf,
    title: nf,
    traffic_class: { from: [from], rate_bps: 1_000_000 },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'nf', kind: 'nf', nf },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: 'nf' },
      { id: 'e2', from: 'nf', to: 'out' },
    ],
    slos: [{ id: 'fast', kind: 'latency', percentile: 99, max_us: 50_000 }],
  });
}

export interface DeployedNf {
  readonly chain_id: string;
  readonly node_id: string;
}

/** A server with one single-slot board, agents that reconnect after restarts, and two chains of one NF each, alpha and beta. */
export class BoardBench {
  alpha!: DeployedNf;
  beta!: DeployedNf;

  private constructor(
    public server: TestServer,
    private readonly env: Record<string, string>,
    private readonly boards: readonly (typeof BOARD)[],
    private readonly links: Infrastructure['links'],
  ) {}

  /** `links`: of boards at switches. */
  static async start(
    env: Record<string, string> = {},
    boards = [BOARD],
    links: Infrastructure['links'] = [],
  ): Promise<BoardBench> {
    const scratch = new Scratch();
    const folder = join(scratch.path, 'nfs');
    writeCatalogue(folder);
    const all = { ORRERY_CATALOGUE: folder, ORRERY_STEP_TIMEOUT_MS: '3000', ...env };
    const bench = new BoardBench(await TestServer.start({ twin: true, env: all }, scratch), all, boards, links);
    await bench.bringUp();
    bench.alpha = { chain_id: await bench.deploy(chainOf('alpha', 'client-1')), node_id: 'nf' };
    bench.beta = { chain_id: await bench.deploy(chainOf('beta', 'client-2')), node_id: 'nf' };
    return bench;
  }

  private async bringUp(): Promise<void> {
    const { scratch, api, agents, switches } = this.server;
    const infrastructure = Infrastructure.parse({
      ...RACK,
      boards: this.boards,
      links: [...RACK.links, ...this.links],
    });
    await api.call('putInfrastructure', { body: infrastructure });
    const socket = `ws+unix:${join(scratch.runDir, 'agents.sock')}:/api/v1/agent`;
    for (const { id } of infrastructure.servers) {
      const { token } = await api.call('createJoinToken', { body: { node: id } });
      const agent = new FakeAgent(socket, id, token);
      agents.set(id, agent);
      const own = this.boards.filter(({ server }) => server === id);
      agent.boards = Object.fromEntries(own.map((board) => [board.id, board.slots]));
      await agent.connect();
      agent.reach();
    }
    for (const { id } of infrastructure.switches) {
      const { token } = await api.call('createJoinToken', { body: { node: id } });
      const agent = new FakeSwitch(socket, id, token);
      switches.set(id, agent);
      await agent.connect();
    }
    await until('the twin runs', async () => (await api.call('getTwin')).daemon === 'running');
  }

  get api() {
    return this.server.api;
  }

  /** The agent that drives the first board. */
  get board(): FakeAgent {
    return this.agentOf(BOARD);
  }

  agentOf({ server }: Pick<typeof BOARD, 'server'>): FakeAgent {
    return this.server.agents.get(server)!;
  }

  /** Restarts the server on the same store, with the same agents. */
  async restart({ reconnect = true, meanwhile = async () => {} } = {}): Promise<void> {
    const { scratch, agents, switches } = this.server;
    await this.server.pause();
    await meanwhile();
    this.server = await TestServer.start({ twin: true, env: this.env }, scratch);
    for (const [id, agent] of agents) {
      this.server.agents.set(id, agent);
      if (reconnect) await agent.connect();
    }
    for (const [id, agent] of switches) {
      this.server.switches.set(id, agent);
      await agent.connect();
    }
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  async deploy(definition: ChainDefinition): Promise<string> {
    const { id } = await this.api.call('createChain', { body: definition });
    const operation = await this.api.call('createDeployment', { body: { chain_id: id } });
    await this.server.finished(operation.id);
    return id;
  }

  /** Requests a move and returns the id of its reconfiguration. */
  async ask(nf: DeployedNf, to: 'board' | 'software', more: object = {}): Promise<string> {
    return (await this.api.call('createReconfiguration', { body: { nf, to, ...more } })).id;
  }

  async move(nf: DeployedNf, to: 'board' | 'software', more: object = {}): Promise<Reconfiguration> {
    return this.ended(await this.ask(nf, to, more));
  }

  run(id: string): Promise<Reconfiguration> {
    return this.api.call('getReconfiguration', { params: { id } });
  }

  ended(id: string): Promise<Reconfiguration> {
    return until(`end of ${id}`, async () => {
      const run = await this.run(id);
      return run.state === 'running' ? null : run;
    });
  }

  async runs(): Promise<Reconfiguration[]> {
    return (await this.api.call('listReconfigurations')).items;
  }

  /** The running instance of each NF. */
  async places(): Promise<Record<string, string>> {
    const { items } = await this.api.call('listNfInstances');
    return Object.fromEntries(items.map(({ nf, id }) => [nf, id]));
  }

  /** Recent events whose type has the prefix, oldest first. */
  async eventsOf<Prefix extends string>(prefix: Prefix): Promise<EventsOf<Prefix>[]> {
    const { items } = await this.api.call('listEvents', { query: { limit: 1000, order: 'newest-first' } });
    return eventsOf(items, prefix).reverse();
  }

  /** Operations that a reconfiguration requested lately, oldest first. */
  async operationsOf(id: string): Promise<Operation[]> {
    const { items } = await this.api.call('listOperations', { query: { limit: 100 } });
    return items.filter((operation) => operation.id.startsWith(`${id}.`)).reverse();
  }

  post(route: RouteName, body: object) {
    return this.api.request(route, { body: JSON.stringify(body) });
  }
}

export const stagesOf = ({ stages }: Reconfiguration) => stages.map(({ stage, state }) => `${stage} ${state}`);
