import { randomUUID } from 'node:crypto';
import { AGENT_PROTOCOL, AgentMessage, type ApplicationsSpec, fieldErrors, type ServerMessage } from '@orrery/contract';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { ProblemError } from '../../platform/problem.js';
import type { CallMethod } from '../../ports/node-fleet.js';
import type { Admission, Hello } from './agent-registry.js';

const OtherHello = z.object({ type: z.enum(['hello', 'switch-hello']), protocol: z.int() });
const HELLO_LIMIT_MS = 5000;
/** Unread bytes after which an agent is disconnected. */
const BACKLOG_BYTES = 64 * 1024 * 1024;
const MAX_CALLS = 64;
/** Above the limits of the agent, whose error says more: 10 s for an NF, 30 s for the state of a board's slot. */
const CALL_LIMIT_MS: Readonly<Record<CallMethod, number>> = {
  get_instance_state: 12_000,
  export_state: 35_000,
  import_state: 35_000,
};

export type AgentReport = Exclude<AgentMessage, { type: 'hello' | 'switch-hello' | 'reply' }>;
/** Desired state of a server or a switch. */
export type DesiredMessage = Extract<ServerMessage, { type: 'desired' | 'switch-desired' }>;

export interface ConnectionSettings {
  readonly serverVersion: string;
  readonly pingMs: number;
}

export interface ConnectionHandlers {
  admit(hello: Hello): Promise<Admission>;
  /** Called when the agent is admitted; returns its first message. */
  welcomed(connection: AgentConnection, hello: Hello): DesiredMessage | null;
  report(connection: AgentConnection, report: AgentReport): void;
  alive(connection: AgentConnection): void;
  invalid(connection: AgentConnection, why: string): void;
  closed(connection: AgentConnection): void;
}

/** One connection of an agent: first its hello, then reports in, desired state and calls out. */
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
      if (message.type === 'hello' || message.type === 'switch-hello') {
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
      for (const settle of this.calls.values()) settle({ error: 'the agent disconnected' });
      this.handlers.closed(this);
    });
  }

  tell(desired: DesiredMessage): void {
    this.send(desired);
  }

  tellApplications(spec: ApplicationsSpec): void {
    this.send({ type: 'applications', spec });
  }

  /** Throws 502 if the agent refuses, disconnects or does not answer in time, and when `signal` aborts. */
  call(
    method: CallMethod,
    instanceId: string,
    params: Record<string, unknown>,
    signal?: AbortSignal,
  ): Promise<unknown> {
    signal?.throwIfAborted();
    if (this.calls.size >= MAX_CALLS) throw new ProblemError(502, `${this.node} has ${MAX_CALLS} calls pending.`);
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      const settle = ({ result, error }: { result?: unknown; error: string | null }) => {
        clearTimeout(late);
        signal?.removeEventListener('abort', abort);
        this.calls.delete(id);
        if (error === null) resolve(result);
        else reject(new ProblemError(502, `${this.node}: ${error}`));
      };
      const late = setTimeout(settle, CALL_LIMIT_MS[method], { error: 'no answer in time' });
      const abort = () => settle({ error: 'the call was cancelled' });
      signal?.addEventListener('abort', abort);
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
    let admission: Admission;
    try {
      admission = await this.handlers.admit(hello);
    } catch {
      // The store is away; the agent will reconnect.
      return this.socket.terminate();
    }
    if (this.socket.readyState !== this.socket.OPEN) return;
    if (!admission.admitted) return this.refuse(admission.why);
    this.node = hello.node;
    this.send({
      type: 'welcome',
      node: hello.node,
      server_version: this.settings.serverVersion,
    });
    const desired = this.handlers.welcomed(this, hello);
    if (desired) this.tell(desired);
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
    const other = otherProtocol(content);
    if (other !== null) {
      this.refuse(
        `the agent speaks protocol ${other}, the server protocol ${AGENT_PROTOCOL}; install the same version of both`,
      );
      return null;
    }
    const parsed = AgentMessage.safeParse(content);
    if (parsed.success) return parsed.data;
    const [first] = fieldErrors(parsed.error);
    this.handlers.invalid(this, `${first?.pointer} ${first?.detail}`);
    return null;
  }
}

/** Protocol version of a hello of another version, whose other fields may differ; null: same version, or not a hello. */
function otherProtocol(content: unknown): number | null {
  const hello = OtherHello.safeParse(content);
  return hello.success && hello.data.protocol !== AGENT_PROTOCOL ? hello.data.protocol : null;
}
