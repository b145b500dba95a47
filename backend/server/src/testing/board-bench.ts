import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Event,
  Infrastructure,
  type NfDescriptor,
  type Operation,
  PipelineDefinition,
  type Reconfiguration,
  type RouteName,
} from '@orrery/contract';
import { REPOSITORY_ROOT } from '../platform/config.js';
import { FakeAgent } from './fake-agent.js';
import { RACK } from './fixtures.js';
import { Scratch, TestServer } from './server.js';
import { until } from './wait.js';

const BOARD = {
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
const WITH_BOARD = Infrastructure.parse({ ...RACK, boards: [BOARD] });

/** The monitor under two other names with an implementation for boards, and under its own without. */
function writeCatalogue(folder: string): void {
  const file = join(REPOSITORY_ROOT, 'agents/engine/nfs/monitor/descriptor.json');
  const monitor = JSON.parse(readFileSync(file, 'utf8')) as NfDescriptor;
  const cost = { cycles_per_packet: 20, base_latency_us: 1, memory_bytes: 0 };
  const onBoard = { kind: 'board', driver: 'board', cost, resources: { lut: 500 } };
  for (const id of ['alpha', 'beta', 'monitor']) {
    const implementations = id === 'monitor' ? monitor.implementations : [...monitor.implementations, onBoard];
    mkdirSync(join(folder, id), { recursive: true });
    writeFileSync(join(folder, id, 'descriptor.json'), JSON.stringify({ ...monitor, id, title: id, implementations }));
  }
}

export function chainOf(nf: string, from: string): PipelineDefinition {
  return PipelineDefinition.parse({
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
  readonly pipeline_id: string;
  readonly node_id: string;
}

/** A server with one board of one slot, whose agents find it again after restarts, and chains of one NF each: alpha and beta. */
export class BoardBench {
  alpha!: DeployedNf;
  beta!: DeployedNf;

  private constructor(
    public server: TestServer,
    private readonly env: Record<string, string>,
  ) {}

  static async start(env: Record<string, string> = {}): Promise<BoardBench> {
    const scratch = new Scratch();
    const folder = join(scratch.path, 'nfs');
    writeCatalogue(folder);
    const all = { ORRERY_CATALOGUE: folder, ORRERY_STEP_TIMEOUT_MS: '3000', ...env };
    const bench = new BoardBench(await TestServer.start({ twin: true, env: all }, scratch), all);
    await bench.bringUp();
    bench.alpha = { pipeline_id: await bench.deploy(chainOf('alpha', 'client-1')), node_id: 'nf' };
    bench.beta = { pipeline_id: await bench.deploy(chainOf('beta', 'client-2')), node_id: 'nf' };
    return bench;
  }

  private async bringUp(): Promise<void> {
    const { scratch, api, agents } = this.server;
    await api.call('putInfrastructure', { body: WITH_BOARD });
    const socket = `ws+unix:${join(scratch.runDir, 'agents.sock')}:/api/v1/agent`;
    for (const { id } of WITH_BOARD.servers) {
      const { token } = await api.call('createJoinToken', { body: { node: id } });
      const agent = new FakeAgent(socket, id, token);
      agents.set(id, agent);
      if (id === BOARD.server) agent.boards = { [BOARD.id]: BOARD.slots };
      await agent.connect();
      agent.reach();
    }
    await until('the twin runs', async () => (await api.call('getTwin')).daemon === 'running');
  }

  get api() {
    return this.server.api;
  }

  /** The agent that drives the board. */
  get board(): FakeAgent {
    return this.server.agents.get(BOARD.server)!;
  }

  /** Another server on what this one has stored, with the same agents. */
  async restart({ reconnect = true, meanwhile = async () => {} } = {}): Promise<void> {
    const { scratch, agents } = this.server;
    await this.server.pause();
    await meanwhile();
    this.server = await TestServer.start({ twin: true, env: this.env }, scratch);
    for (const [id, agent] of agents) {
      this.server.agents.set(id, agent);
      if (reconnect) await agent.connect();
    }
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  async deploy(definition: PipelineDefinition): Promise<string> {
    const { id } = await this.api.call('createPipeline', { body: definition });
    const operation = await this.api.call('createDeployment', { body: { pipeline_id: id } });
    await this.server.finished(operation.id);
    return id;
  }

  /** Asks for a move and gives its reconfiguration's id. */
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

  /** The instance of each NF that runs. */
  async places(): Promise<Record<string, string>> {
    const { items } = await this.api.call('listNfInstances');
    return Object.fromEntries(items.map(({ nf, id }) => [nf, id]));
  }

  /** Late events whose type begins so, the oldest first. */
  async eventsOf(prefix: string): Promise<Event[]> {
    const { items } = await this.api.call('listEvents', { query: { limit: 1000, order: 'newest-first' } });
    return items.filter(({ type }) => type.startsWith(prefix)).reverse();
  }

  /** Operations that a reconfiguration asked for, the oldest first. */
  async operationsOf(id: string): Promise<Operation[]> {
    const { items } = await this.api.call('listOperations', { query: { limit: 1000 } });
    return items.filter((operation) => operation.id.startsWith(`${id}.`)).reverse();
  }

  post(route: RouteName, body: object) {
    return this.api.request(route, { body: JSON.stringify(body) });
  }
}

export const stagesOf = ({ stages }: Reconfiguration) => stages.map(({ stage, state }) => `${stage} ${state}`);
