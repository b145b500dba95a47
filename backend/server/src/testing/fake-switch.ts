import { randomBytes } from 'node:crypto';
import {
  AGENT_PROTOCOL,
  type AgentMessage,
  API_PREFIX,
  type ObservedSwitch,
  type P4ProgramFiles,
  ServerMessage,
  type SwitchAbilities,
  type SwitchSpec,
} from '@orrery/contract';
import { ASSUMED_ABILITIES } from '@orrery/planner';
import { WebSocket } from 'ws';
import { until } from './wait.js';

/** Speaks the protocol of a switch's agent. Converges immediately unless `hold` is set. */
export class FakeSwitch {
  readonly told: SwitchSpec[] = [];
  /** The P4 program that came with its latest spec. */
  program: P4ProgramFiles | null = null;
  credential = randomBytes(32).toString('base64url');
  hold = false;
  /** What it reports from its next connection on. */
  abilities = ASSUMED_ABILITIES;
  driver = 'ovs';
  /** Abilities by the drivers that it could run instead, as it reports them from its next connection on. */
  drivers: Record<string, SwitchAbilities> = {
    ovs: ASSUMED_ABILITIES,
    p4: ASSUMED_ABILITIES,
    bmv2: ASSUMED_ABILITIES,
  };
  /** Why it cannot converge; null: it can. */
  trouble: string | null = null;
  /** Answers a call; what it throws is the refusal. */
  answer: (method: string, params: Record<string, unknown>) => unknown = (method) => {
    throw new Error(`/method: a switch has no ${method}`);
  };
  observed: ObservedSwitch = {
    generation: 0,
    state: 'converged',
    entries: 0,
    repairs: 0,
    repaired_rules: [],
    ports: [],
    error: null,
  };
  private socket: WebSocket | null = null;

  constructor(
    private readonly serverUrl: string,
    readonly node: string,
    private readonly token: string | null,
  ) {}

  get spec(): SwitchSpec | undefined {
    return this.told.at(-1);
  }

  /** Rules of which it was last told entries. */
  get rules(): string[] {
    return [...new Set(this.spec?.entries.flatMap(({ rule_id }) => rule_id ?? []))];
  }

  /** Resolves when the server has admitted it. */
  async connect(): Promise<void> {
    const base = this.serverUrl.replace(/^http/, 'ws');
    const socket = new WebSocket(base.startsWith('ws+unix:') ? base : `${base}${API_PREFIX}/agent`);
    this.socket = socket;
    let welcomed = false;
    socket.on('message', (data) => {
      const message = ServerMessage.parse(JSON.parse(data.toString()));
      if (message.type === 'welcome') welcomed = true;
      else if (message.type === 'switch-desired') {
        this.told.push(message.spec);
        this.program = message.program ?? null;
        if (!this.hold) this.reach();
      } else if (message.type === 'call') this.reply(message);
    });
    socket.on('error', () => undefined);
    await until(`connection of ${this.node}`, () => socket.readyState === WebSocket.OPEN);
    this.send({
      type: 'switch-hello',
      protocol: AGENT_PROTOCOL,
      node: this.node,
      origin: 'twin',
      version: '0.1.0',
      join_token: this.token,
      credential: this.credential,
      description: { driver: this.driver, software: 'fake', abilities: this.abilities },
      drivers: this.drivers,
      observed: this.observed,
    });
    await until(`welcome of ${this.node}`, () => welcomed);
  }

  /** Reports that its latest spec is installed, or why not. */
  reach(): void {
    const { spec, trouble } = this;
    const generation = trouble === null ? (spec?.generation ?? 0) : this.observed.generation;
    const state = trouble === null ? ('converged' as const) : ('failed' as const);
    this.observed = { ...this.observed, generation, state, error: trouble, entries: spec?.entries.length ?? 0 };
    this.send({ type: 'switch-observed', observed: this.observed });
  }

  private reply({ id, method, params }: Extract<ServerMessage, { type: 'call' }>): void {
    try {
      this.send({ type: 'reply', id, result: this.answer(method, params), error: null });
    } catch (error) {
      this.send({ type: 'reply', id, error: (error as Error).message });
    }
  }

  send(message: AgentMessage): void {
    this.socket?.send(JSON.stringify(message));
  }

  emit(event: 'switch.failed' | 'switch.recovered', message: string): void {
    this.send({ type: 'event', event, subject: this.node, message, t_ms: Date.now(), data: {} });
  }

  /** Is built anew by another driver, with no entries. */
  async rebuild(driver: string): Promise<void> {
    await this.kill();
    this.driver = driver;
    this.abilities = this.drivers[driver] ?? this.abilities;
    this.observed = { ...this.observed, generation: 0, entries: 0, state: 'converged', error: null };
    await this.connect();
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
