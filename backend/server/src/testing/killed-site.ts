import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Infrastructure } from '@orrery/contract';
import { ChildServer, type KillStep } from './child-server.js';
import { type Answer, ApiClient } from './client.js';
import { type EventsOf, eventsOf } from './events.js';
import { FakeAgent } from './fake-agent.js';
import { FakeSwitch } from './fake-switch.js';
import { RACK } from './fixtures.js';
import { FAKE_TWIND, Scratch, signIn, type TestOptions } from './server.js';
import { until } from './wait.js';

const PATIENT = { ORRERY_AGENT_STALE_MS: '60000' };
const LIVES = { step: 0, when: 'before' } as const;

/** What a request was answered when the server was killed during it, and whether it was killed at all. */
export interface Kill {
  /** Null: the server was gone before it answered. */
  readonly answer: Answer | null;
  readonly reached: boolean;
}

interface Numbered {
  readonly generation: number;
}

/** A server in a process of its own that is killed and started again, with agents that outlive it. */
export class KilledSite {
  readonly agents: FakeAgent[] = [];
  readonly switches: FakeSwitch[] = [];

  private constructor(
    readonly scratch: Scratch,
    private server: ChildServer,
    private client: ApiClient,
    private readonly options: TestOptions,
  ) {}

  static async start(env: Record<string, string> = {}): Promise<KilledSite> {
    const scratch = new Scratch();
    const options = { twin: true, env: { ...PATIENT, ...env } };
    const server = await ChildServer.start(scratch, options);
    return new KilledSite(scratch, server, await signIn(server.url, scratch.secret), options);
  }

  /** Whether the server has been killed, and not been started again yet. */
  get isDown(): boolean {
    return this.server.isGone;
  }

  get api(): ApiClient {
    return this.client;
  }

  /** The rack with its twin and an agent for each server and switch. */
  async bringUp(infrastructure: Infrastructure = RACK): Promise<void> {
    await this.api.call('putInfrastructure', { body: infrastructure });
    const socket = `ws+unix:${join(this.scratch.runDir, 'agents.sock')}:/api/v1/agent`;
    const token = async (node: string) => (await this.api.call('createJoinToken', { body: { node } })).token;
    for (const { id } of infrastructure.servers) this.agents.push(new FakeAgent(socket, id, await token(id)));
    for (const { id } of infrastructure.switches) this.switches.push(new FakeSwitch(socket, id, await token(id)));
    for (const agent of [...this.agents, ...this.switches]) await agent.connect();
    await until('the twin runs', async () => (await this.api.call('getTwin')).daemon === 'running');
  }

  /** Makes the request of a server that is killed at the step. If it was not killed, the request has had its full effect. */
  async killedAt(
    point: KillStep,
    request: (api: ApiClient) => Promise<Answer>,
    isDone: () => Promise<boolean>,
  ): Promise<Kill> {
    await this.server.killAt(point);
    const answer = await request(this.api).catch(() => null);
    const isOver = async () => answer !== null && (await isDone().catch(() => false));
    await until('the kill or the end', async () => this.server.isGone || (await isOver()));
    await this.server.killAt(LIVES);
    const reached = this.server.isGone;
    if (reached) await this.restart();
    return { answer, reached };
  }

  private async restart(): Promise<void> {
    this.server = await ChildServer.start(this.scratch, this.options);
    this.client = new ApiClient(this.server.url, this.client.token);
    for (const agent of [...this.agents, ...this.switches]) await agent.connect();
  }

  /** Processes of twind that live. */
  get twins(): number[] {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 1 && this.isTwin(pid));
  }

  private isTwin(pid: number): boolean {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return command.includes(FAKE_TWIND) && command.includes(this.scratch.runDir);
    } catch {
      return false;
    }
  }

  /** Recent events whose type has the prefix, oldest first. */
  async eventsOf<Prefix extends string>(prefix: Prefix): Promise<EventsOf<Prefix>[]> {
    const { items } = await this.api.call('listEvents', { query: { limit: 1000, order: 'newest-first' } });
    return eventsOf(items, prefix).reverse();
  }

  /**
   * Receivers that were told two contents under one generation, or an older generation after a newer one: they would have
   * kept the wrong one.
   */
  get contradictions(): string[] {
    const told: Record<string, readonly Numbered[]> = {
      'twind, infrastructure': this.scratch
        .toldTwin('PUT /spec')
        .map(({ body: { generation, infrastructure } }) => ({ generation, infrastructure })),
      'twind, applications': this.scratch.toldTwin('PUT /applications').map(({ body }) => body),
    };
    for (const { node, told: specs } of [...this.agents, ...this.switches]) told[node] = specs;
    for (const { node, toldApplications } of this.agents) told[`${node}, applications`] = toldApplications;
    return Object.entries(told).flatMap(([who, specs]) =>
      specs.slice(1).flatMap((next, i) => {
        const before = specs[i]!;
        if (next.generation > before.generation || isDeepStrictEqual(next, before)) return [];
        return `${who}: ${next.generation} after ${before.generation}`;
      }),
    );
  }

  async stop(): Promise<void> {
    for (const agent of [...this.agents, ...this.switches]) await agent.kill();
    await this.server.end('SIGTERM');
    this.scratch.remove();
  }
}
