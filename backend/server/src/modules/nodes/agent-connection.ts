import { randomUUID } from 'node:crypto';
import { AGENT_PROTOCOL, AgentMessage, fieldErrors, type NodeSpec, type ServerMessage } from '@orrery/contract';
import type { WebSocket } from 'ws';
import { ProblemError } from '../../platform/problem.js';
import type { CallMethod } from '../../ports/node-fleet.js';
import type { Admission } from './agent-registry.js';

const HELLO_LIMIT_MS = 5000;
/** What an agent may leave unread before it is cut off. */
const BACKLOG_BYTES = 64 * 1024 * 1024;
const MAX_CALLS = 64;

type Hello = Extract<AgentMessage, { type: 'hello' }>;
export type AgentReport = Exclude<AgentMessage, { type: 'hello' | 'reply' }>;

export interface ConnectionSettings {
  readonly serverVersion: string;
  readonly callTimeoutMs: number;
  readonly pingMs: number;
}

export interface ConnectionHandlers {
  admit(hello: Hello): Promise<Admission>;
  /** The agent is admitted; gives what it is to be told first. */
  welcomed(connection: AgentConnection, hello: Hello): NodeSpec | undefined;
  report(connection: AgentConnection, report: AgentReport): void;
  alive(connection: AgentConnection): void;
  invalid(connection: AgentConnection, why: string): void;
  closed(connection: AgentConnection): void;
}

/** One connection of an agent: hello first, then reports in and desired state and calls out. */
export class AgentConnection {
  node: string | null = null;
  private greeting = false;
  private readonly calls = new Map<string, (reply: { result?: unknown; error: string | null }) => void>();

  constructor(
    private readonly socket: WebSocket,
    private readonly settings: ConnectionSettings,
    private readonly handlers: ConnectionHandlers,
  ) {
    const limit = setTimeout(() => socket.terminate(), HELLO_LIMIT_MS);
    const pings = setInterval(() => socket.readyState === socket.OPEN && socket.ping(), settings.pingMs);
    socket.on('message', (data, binary) => {
      if (this.node) this.handlers.alive(this);
      const message = this.parse(binary ? null : data.toString());
      if (!message) return;
      if (message.type === 'hello') {
        clearTimeout(limit);
        void this.hello(message);
      } else if (this.node && message.type === 'reply') {
        this.calls.get(message.id)?.(message);
      } else if (this.node && message.type !== 'reply') {
        this.handlers.report(this, message);
      }
    });
    socket.on('pong', () => this.node && this.handlers.alive(this));
    socket.on('close', () => {
      clearTimeout(limit);
      clearInterval(pings);
      for (const settle of this.calls.values()) settle({ error: 'the agent has gone' });
      this.handlers.closed(this);
    });
  }

  tell(spec: NodeSpec): void {
    this.send({ type: 'desired', spec });
  }

  /** Throws 502 when the agent refuses, goes away or is late. */
  call(method: CallMethod, instanceId: string, params: Record<string, unknown>): Promise<unknown> {
    if (this.calls.size >= MAX_CALLS) throw new ProblemError(502, `${this.node} has ${MAX_CALLS} calls to answer.`);
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      const settle = ({ result, error }: { result?: unknown; error: string | null }) => {
        clearTimeout(late);
        this.calls.delete(id);
        if (error === null) resolve(result);
        else reject(new ProblemError(502, `${this.node}: ${error}`));
      };
      const late = setTimeout(settle, this.settings.callTimeoutMs, { error: 'no answer in time' });
      this.calls.set(id, settle);
      this.send({ type: 'call', id, method, instance_id: instanceId, params });
    });
  }

  cut(): void {
    this.socket.terminate();
  }

  private async hello(hello: Hello): Promise<void> {
    if (this.greeting) return this.handlers.invalid(this, 'a second hello');
    this.greeting = true;
    if (hello.protocol !== AGENT_PROTOCOL)
      return this.refuse(`the server speaks protocol ${AGENT_PROTOCOL}, the agent ${hello.protocol}`);
    let admission: Admission;
    try {
      admission = await this.handlers.admit(hello);
    } catch {
      // The store is away: the agent comes back by itself.
      return this.socket.terminate();
    }
    if (this.socket.readyState !== this.socket.OPEN) return;
    if (!admission.admitted) return this.refuse(admission.why);
    this.node = hello.node;
    this.send({
      type: 'welcome',
      node: hello.node,
      credential: admission.credential,
      server_version: this.settings.serverVersion,
    });
    const spec = this.handlers.welcomed(this, hello);
    if (spec) this.tell(spec);
  }

  private refuse(detail: string): void {
    this.send({ type: 'refused', detail });
    this.socket.close(1008, 'refused');
  }

  private send(message: ServerMessage): void {
    if (this.socket.bufferedAmount > BACKLOG_BYTES) this.socket.terminate();
    else if (this.socket.readyState === this.socket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private parse(text: string | null): AgentMessage | null {
    let content: unknown;
    try {
      content = JSON.parse(text ?? '');
    } catch {
      this.handlers.invalid(this, 'not JSON');
      return null;
    }
    const parsed = AgentMessage.safeParse(content);
    if (parsed.success) return parsed.data;
    const [first] = fieldErrors(parsed.error);
    this.handlers.invalid(this, `${first?.pointer} ${first?.detail}`);
    return null;
  }
}
