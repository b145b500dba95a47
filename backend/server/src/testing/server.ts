import 'reflect-metadata';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ApplicationsSpec, Role, TwinSpec } from '@orrery/contract';
import { Agent } from 'undici';
import { type Config, configFrom } from '../platform/config.js';
import { makeLog } from '../platform/log.js';
import { isOver } from '../ports/operation-log.js';
import { type RunningServer, startServer } from '../server.js';
import { ApiClient } from './client.js';
import { FakeAgent } from './fake-agent.js';
import { FakeSwitch } from './fake-switch.js';
import { RACK } from './fixtures.js';
import { until } from './wait.js';

export const FAKE_TWIND = fileURLToPath(new URL('./fake-twind.mjs', import.meta.url));

export interface TestOptions {
  readonly twin?: boolean;
  readonly env?: Record<string, string>;
  /** Certificate authority (PEM) of the server's certificate. */
  readonly ca?: string;
}

/** What the server sends twind, by request. */
interface TwinBodies {
  'PUT /spec': TwinSpec;
  'PUT /applications': ApplicationsSpec;
}

/** A directory for one test's sockets and state. */
export class Scratch {
  readonly path = mkdtempSync('/tmp/orrery-t-');
  readonly runDir = join(this.path, 'r');
  readonly stateDir = join(this.path, 's');

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  /** Environment of a server that lives in this directory. */
  env({ twin = false, env = {} }: TestOptions = {}): Record<string, string> {
    chmodSync(FAKE_TWIND, 0o755);
    return {
      ORRERY_PORT: '0',
      ORRERY_RUN_DIR: this.runDir,
      ORRERY_STATE_DIR: this.stateDir,
      ORRERY_TWIN: twin ? 'on' : 'off',
      ORRERY_TWIND: FAKE_TWIND,
      ORRERY_LOG_LEVEL: 'warn',
      ORRERY_AGENT_STALE_MS: '400',
      ORRERY_STEP_TIMEOUT_MS: '600',
      ORRERY_SLO_PERIOD_MS: '50',
      ORRERY_SLO_WARM_UP_MS: '0',
      ...env,
    };
  }

  get secret(): string {
    return readFileSync(join(this.stateDir, 'admin-secret'), 'utf8').trim();
  }

  /** Requests to the fake twind, in order. */
  twinJournal(): { pid: number; call: string; body: unknown }[] {
    try {
      const text = readFileSync(join(this.stateDir, 'twin/told.jsonl'), 'utf8');
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    } catch {
      return [];
    }
  }

  /** Requests of one kind to the fake twind, in order. */
  toldTwin<C extends keyof TwinBodies>(call: C): { pid: number; body: TwinBodies[C] }[] {
    return this.twinJournal()
      .filter((entry) => entry.call === call)
      .map(({ pid, body }) => ({ pid, body: body as TwinBodies[C] }));
  }
}

/** A whole server in this process, with a real Redis. */
export class TestServer {
  readonly agents = new Map<string, FakeAgent>();
  readonly switches = new Map<string, FakeSwitch>();

  private constructor(
    readonly scratch: Scratch,
    readonly config: Config,
    readonly running: RunningServer,
    readonly api: ApiClient,
  ) {}

  static async start(options: TestOptions = {}, scratch = new Scratch()): Promise<TestServer> {
    const config = configFrom(scratch.env(options));
    const running = await startServer(config, makeLog(config.logLevel));
    return new TestServer(scratch, config, running, await signIn(running.url, scratch.secret, undefined, options.ca));
  }

  async session(role: Role): Promise<ApiClient> {
    return signIn(this.running.url, this.scratch.secret, role);
  }

  /** The rack with its twin, and a fake agent for each of its servers and switches; `prepare`: before a server's connects. */
  async bringUp(infrastructure = RACK, prepare: (agent: FakeAgent) => void = () => undefined): Promise<void> {
    await this.api.call('putInfrastructure', { body: infrastructure });
    for (const { id } of infrastructure.servers) {
      const { token } = await this.api.call('createJoinToken', { body: { node: id } });
      const agent = new FakeAgent(this.running.url, id, token);
      prepare(agent);
      await agent.connect();
      this.agents.set(id, agent);
    }
    for (const { id } of infrastructure.switches) {
      const { token } = await this.api.call('createJoinToken', { body: { node: id } });
      const agent = new FakeSwitch(this.running.url, id, token);
      await agent.connect();
      this.switches.set(id, agent);
    }
    await until('the twin runs', async () => (await this.api.call('getTwin')).daemon === 'running');
  }

  /** Rules with entries in the latest spec of any switch. */
  get steered(): string[] {
    return [...new Set([...this.switches.values()].flatMap(({ rules }) => rules))];
  }

  async metrics(): Promise<string> {
    const headers = { authorization: `Bearer ${this.api.token}` };
    return (await fetch(`${this.running.url}/metrics`, { headers })).text();
  }

  operation(id: string) {
    return this.api.call('getOperation', { params: { id } });
  }

  /** Waits until the operation has finished. */
  async finished(id: string) {
    let operation = await this.operation(id);
    const end = async () => {
      operation = await this.operation(id);
      return isOver(operation) ? operation : null;
    };
    return until(`end of ${id}`, end).catch((error: Error) => {
      throw new Error(`${error.message}; it is ${JSON.stringify(operation)}`);
    });
  }

  /** Nothing is deployed any more, and no chain is left. */
  async removeChains(): Promise<void> {
    for (const { chain_id } of (await this.api.call('listDeployments')).items)
      await this.finished((await this.api.call('deleteDeployment', { params: { chain_id } })).id);
    const { items: chains } = await this.api.call('listChains');
    for (const { id } of chains) await this.api.call('deleteChain', { params: { id } });
  }

  /** Id of the newest event. */
  async newestEvent(): Promise<string> {
    const { items } = await this.api.call('listEvents', { query: { limit: 1, order: 'newest-first' } });
    return items[0]!.id;
  }

  /** Stops, keeping the state for another start. */
  async pause(): Promise<void> {
    for (const agent of [...this.agents.values(), ...this.switches.values()]) await agent.kill();
    await this.running.close();
  }

  async stop(): Promise<void> {
    await this.pause();
    this.scratch.remove();
  }
}

export async function signIn(url: string, secret: string, role?: Role, ca?: string): Promise<ApiClient> {
  const client = new ApiClient(url, null, ca === undefined ? undefined : new Agent({ connect: { ca } }));
  const session = await client.call('createSession', { body: { secret, role } });
  return client.as(session.token);
}
