import { randomBytes } from 'node:crypto';
import {
  AGENT_PROTOCOL,
  type AgentMessage,
  API_PREFIX,
  type ApplicationsSpec,
  type EngineAbility,
  type LoadResult,
  type ModuleSpec,
  type NodeSamples,
  type NodeSpec,
  type Observed,
  ServerMessage,
} from '@orrery/contract';
import { WebSocket } from 'ws';
import { until } from './wait.js';

const IDLE: Observed = {
  generation: 0,
  state: 'converged',
  engine: 'running',
  engine_pid: 1,
  instances: [],
  boards: [],
  error: null,
  troubles: [],
};

/** Speaks the agent protocol. Converges immediately unless `hold` is set. */
export class FakeAgent {
  readonly told: NodeSpec[] = [];
  readonly calls: Extract<ServerMessage, { type: 'call' }>[] = [];
  applications: ApplicationsSpec | null = null;
  readonly toldApplications: ApplicationsSpec[] = [];
  credential = randomBytes(32).toString('base64url');
  hold = false;
  protocol: number = AGENT_PROTOCOL;
  /** Otherwise its first report follows the hello, as if that were too long with it. */
  tellsInHello = true;
  refused: string | null = null;
  observed = IDLE;
  /** What it offers from its next connection on. */
  drivers = ['engine'];
  /** Whether its containers run unmodified programs, too; undefined: it does not say. */
  containsPrograms: boolean | undefined;
  /** Images that its Docker has; undefined: it does not say. */
  images: string[] | undefined;
  /** Answers to calls, by method, in place of the usual one. */
  readonly answers = new Map<string, unknown>();
  /** Why calls are refused, by method. */
  readonly refusals = new Map<string, string>();
  /** What shells were told. */
  readonly shells: Extract<ServerMessage, { type: 'shell' }>[] = [];
  /** What its engine declares beside NFs. */
  abilities: EngineAbility[] = [];
  /** Boards that it drives, with their number of slots. */
  boards: Record<string, number> = {};
  /** Slots (`board/slot`) that do not work; below, instances that cannot be loaded, with the reason. */
  readonly faulty = new Set<string>();
  /** Slots that load again what they ran. */
  readonly reloading = new Set<string>();
  readonly loadErrors = new Map<string, string>();
  lastLoad: LoadResult | null = null;
  /** Instances that never become ready. */
  readonly pending = new Set<string>();
  /** What it measures of an instance. */
  loadOf: (instanceId: string) => { readonly cpu_share: number; readonly queue_depth: number } = () => ({
    cpu_share: 0.05,
    queue_depth: 0,
  });
  private answersPings = true;
  private socket: WebSocket | null = null;
  private seq = 0;
  private counters = { packets: 0, bytes: 0 };

  constructor(
    private readonly serverUrl: string,
    readonly node: string,
    private readonly token: string | null,
  ) {}

  get spec(): NodeSpec | undefined {
    return this.told.at(-1);
  }

  get isConnected(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Resolves when the server has admitted or refused it. */
  async connect(): Promise<void> {
    const base = this.serverUrl.replace(/^http/, 'ws');
    const url = base.startsWith('ws+unix:') ? base : `${base}${API_PREFIX}/agent`;
    const socket = new WebSocket(url, { autoPong: false });
    this.socket = socket;
    this.answersPings = true;
    socket.on('ping', (data) => this.answersPings && socket.pong(data));
    this.refused = null;
    let welcomed = false;
    socket.on('message', (data) => {
      const message = ServerMessage.parse(JSON.parse(data.toString()));
      if (message.type === 'welcome') welcomed = true;
      else if (message.type === 'desired') {
        this.told.push(message.spec);
        if (!this.hold) this.reach();
      } else if (message.type === 'applications') {
        this.applications = message.spec;
        this.toldApplications.push(message.spec);
      } else if (message.type === 'call') {
        this.calls.push(message);
        const error = this.refusals.get(message.method) ?? null;
        const result = error === null ? (this.answers.get(message.method) ?? { of: message.instance_id }) : undefined;
        this.send({ type: 'reply', id: message.id, result, error });
      } else if (message.type === 'shell') this.shells.push(message);
      else if (message.type === 'refused') this.refused = message.detail;
    });
    socket.on('error', () => undefined);
    await until(`connection of ${this.node}`, () => socket.readyState === WebSocket.OPEN);
    this.send({
      type: 'hello',
      protocol: this.protocol,
      node: this.node,
      origin: 'twin',
      version: '0.1.0',
      join_token: this.token,
      credential: this.credential,
      capabilities: {
        cores: 2,
        memory_bytes: 1,
        hugepages_bytes: 0,
        dpdk: '22.11',
        engine_memory: 'no-huge',
        drivers: this.drivers,
        nfs: ['ids'],
        abilities: this.abilities,
        iface: 'nic0',
        iface_mac: '02:00:00:00:00:01',
        boards: [],
        containers: this.drivers.includes('container')
          ? { available: true, detail: 'Docker 27.0', programs: this.containsPrograms, images: this.images }
          : { available: false, detail: 'Docker does not answer' },
        legacy_nfs: this.images ? { enabled: false, nfs: [], detail: '' } : undefined,
      },
      observed: this.tellsInHello ? this.observed : null,
    });
    await until(`welcome of ${this.node}`, () => welcomed || this.refused !== null);
  }

  /** Reports that the latest spec runs; before the first, the state of its boards. */
  reach(): void {
    const { spec } = this;
    if (!spec) {
      this.report({ ...this.observed, boards: this.observedBoards({ instances: [] }) });
      return;
    }
    const failing = spec.instances.flatMap(({ id }) => this.loadErrors.get(id) ?? []);
    const lost = spec.instances.some(
      ({ board }) => board && [this.faulty, this.reloading].some((it) => it.has(`${board.board}/${board.slot}`)),
    );
    const instances = spec.instances.map(({ id }) => ({ id, state: 'running' as const, detail: null }));
    const seen = { ...IDLE, instances, boards: this.observedBoards(spec) };
    if (failing.length > 0)
      this.report({ ...seen, generation: this.observed.generation, state: 'failed', error: failing[0]! });
    else if (lost || spec.instances.some(({ id }) => this.pending.has(id)))
      this.report({ ...seen, generation: this.observed.generation, state: 'progressing' });
    else this.report({ ...seen, generation: spec.generation });
  }

  /** Slots run what the spec specifies, unless they are faulty. */
  private observedBoards(spec: Pick<NodeSpec, 'instances'>): Observed['boards'] {
    return Object.entries(this.boards).map(([id, count]) => ({
      id,
      state: 'operating',
      detail: null,
      last_load: this.lastLoad,
      slots: Array.from({ length: count }, (_, slot) => {
        const user = spec.instances.find(({ board }) => board?.board === id && board.slot === slot);
        const broken = this.faulty.has(`${id}/${slot}`);
        const reloads = this.reloading.has(`${id}/${slot}`);
        return {
          slot,
          state: broken ? 'faulty' : user ? (reloads ? 'loading' : 'active') : 'empty',
          module: user?.nf ?? null,
          instance_id: user?.id ?? null,
          load: null,
          reloads: reloads && user !== undefined,
          detail: null,
        } as const;
      }),
    }));
  }

  report(observed: Observed): void {
    this.observed = observed;
    this.send({ type: 'observed', observed });
  }

  /** One interval of 200 ms in which each exit passed `packets` packets of 1000 bytes, all in the given histogram bucket. */
  sample(packets: number, bucket = 160, splits: NodeSamples['splits'] = []): void {
    this.counters = { packets: this.counters.packets + packets, bytes: this.counters.bytes + 1000 * packets };
    const { packets: total, bytes } = this.counters;
    const samples: NodeSamples = {
      epoch: 'boot-1',
      seq: this.seq++,
      t_ms: Date.now(),
      clock_ms: performance.now(),
      interval_ms: 200,
      lost: 0,
      cpu_share: 0.1,
      instances: (this.spec?.instances ?? []).map(({ id }) => ({
        instance_id: id,
        packets_in: total,
        packets_out: total,
        bytes_in: bytes,
        bytes_out: bytes,
        drops: {},
        ...this.loadOf(id),
        latency_ns: packets > 0 ? [[bucket, packets]] : [],
      })),
      exits: (this.spec?.exits ?? []).map(({ exit_id }) => ({
        exit_id,
        packets: total,
        bytes,
        latency_ns: packets > 0 ? [[bucket, packets]] : [],
      })),
      modules: (this.spec?.modules ?? []).map((module) => moduleSample(module, total)),
      splits,
      schedulers: (this.spec?.schedulers ?? []).map(({ core, tree }) => ({
        core,
        nodes: tree.map(({ id }) => ({
          id,
          cpu_share: 0.1,
          pps: 5 * packets,
          bps: 40_000 * packets,
          polling_share: 0,
        })),
      })),
      boards: [],
    };
    this.send({ type: 'samples', samples });
  }

  send(message: AgentMessage): void {
    this.raw(JSON.stringify(message));
  }

  raw(data: string | Buffer): void {
    this.socket?.send(data);
  }

  /** Begins or continues a message that never ends, and answers no ping from then on, as if that had to wait for the end. */
  part(data: string): void {
    this.answersPings = false;
    this.socket?.send(data, { fin: false });
  }

  /** Disconnects abruptly, like a killed agent. */
  async kill(): Promise<void> {
    const { socket } = this;
    this.socket = null;
    if (!socket || socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.terminate();
    await closed;
  }
}

/** After so many packets, of which each was copied to every branch. */
function moduleSample(module: ModuleSpec, packets: number): NodeSamples['modules'][number] {
  const [copiesIn, copiesOut] = [
    module.kind === 'merge' ? module.branches.length : 1,
    module.kind === 'mirror' ? module.copies.length : 1,
  ];
  return {
    module_id: module.id,
    packets_in: copiesIn * packets,
    packets_out: copiesOut * packets,
    drops: {},
    waiting: 0,
    cpu_share: 0.01,
  };
}
