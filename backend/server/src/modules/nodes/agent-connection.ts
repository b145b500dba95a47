import { randomUUID } from 'node:crypto';
import {
  AGENT_PROTOCOL,
  AgentMessage,
  type ApplicationsSpec,
  fieldErrors,
  type ServerMessage,
  type ShellOutput,
  type ShellSize,
} from '@orrery/contract';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { ProblemError } from '../../platform/problem.js';
import type { Visitor } from '../../platform/sockets.js';
import { type CallMethod, LostReply } from '../../ports/node-fleet.js';
import type { NodeShell } from '../../ports/node-shells.js';
import { type AgentPace, MAX_INVALID, REPORT_BYTES } from './agent-limits.js';
import type { Admission, Hello } from './agent-registry.js';

const OtherHello = z.object({ type: z.enum(['hello', 'switch-hello']), protocol: z.int() });
const HELLO_LIMIT_MS = 5000;
/** Unread bytes after which an agent is disconnected. */
const BACKLOG_BYTES = 64 * 1024 * 1024;
/** Unread bytes after which what is typed into a shell is given up. */
const TYPED_BACKLOG_BYTES = 1024 * 1024;
const MAX_CALLS = 64;
const MAX_WHY = 300;
/** Above the limits of the agent, whose error says more: 10 s for an NF, 30 s for the state of a board's slot. */
const CALL_LIMIT_MS: Readonly<Record<CallMethod, number>> = {
  get_instance_state: 12_000,
  read_log: 12_000,
  open_shell: 25_000,
  export_state: 35_000,
  import_state: 35_000,
  export_flows: 35_000,
  release_flows: 35_000,
  accelerate: 25_000,
  release: 25_000,
  hold_flows: 12_000,
  end_hold: 12_000,
  read_split: 12_000,
  arm_traces: 12_000,
  read_traces: 12_000,
  read_program: 12_000,
  read_cells: 12_000,
  read_kept: 12_000,
};

export type AgentReport = Exclude<AgentMessage, { type: 'hello' | 'switch-hello' | 'reply' | 'shell' }>;
/** Desired state of a server or a switch. */
export type DesiredMessage = Extract<ServerMessage, { type: 'desired' | 'switch-desired' }>;

interface ConnectionSettings {
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
  /** What the node may send; the same over all its connections. */
  paceOf(node: string): AgentPace;
  /** Called when the agent sends more than that. */
  slowed(): void;
}

/** `isLost`: none came. */
interface Reply {
  readonly result?: unknown;
  readonly error: string | null;
  readonly isLost?: boolean;
}

const lost = (error: string): Reply => ({ error, isLost: true });

/** One connection of an agent: first its hello, then reports in, desired state and calls out. */
export class AgentConnection {
  node: string | null = null;
  /** Monotonic clock: since when the server reads what the agent sends. Infinity: it reads nothing now. */
  readsSinceMs = performance.now();
  private receivedBytes = 0;
  private greeting = false;
  private invalidCount = 0;
  private pace: AgentPace | null = null;
  private readonly calls = new Map<string, (reply: Reply) => void>();
  private readonly shells = new Map<string, (message: ShellOutput) => void>();

  constructor(
    private readonly socket: WebSocket,
    private readonly visitor: Visitor,
    private readonly settings: ConnectionSettings,
    private readonly handlers: ConnectionHandlers,
  ) {
    const limit = setTimeout(() => socket.terminate(), HELLO_LIMIT_MS);
    const pings = setInterval(() => socket.readyState === socket.OPEN && socket.ping(), settings.pingMs);
    socket.on('message', (data, binary) => {
      if (socket.readyState !== socket.OPEN) return;
      const text = binary ? '' : data.toString();
      if (this.node) this.takeReport(text);
      else {
        const hello = this.parse(text);
        // Refused already, or cut before it costs more.
        if (hello && isHello(hello)) void this.hello(hello, () => clearTimeout(limit));
        else if (hello) this.refuse('a hello comes first');
      }
    });
    socket.on('pong', () => this.node && this.handlers.alive(this));
    socket.on('close', () => {
      clearTimeout(limit);
      clearInterval(pings);
      for (const settle of this.calls.values()) settle(lost('the agent disconnected'));
      for (const listen of this.shells.values()) listen({ type: 'ended', detail: 'the agent disconnected' });
      this.shells.clear();
      this.handlers.closed(this);
    });
  }

  /** Whether anything has arrived since this was last asked, also a part of a message: a large one delays every pong. */
  hasReceived(): boolean {
    const before = this.receivedBytes;
    this.receivedBytes = this.visitor.receivedBytes();
    return this.receivedBytes > before;
  }

  tell(desired: DesiredMessage): void {
    this.send(desired);
  }

  tellApplications(spec: ApplicationsSpec): void {
    this.send({ type: 'applications', spec });
  }

  /** Throws 502 if the agent refuses, `LostReply` if it disconnects or does not answer in time, and when `signal` aborts. */
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
      const settle = ({ result, error, isLost }: Reply) => {
        clearTimeout(late);
        signal?.removeEventListener('abort', abort);
        this.calls.delete(id);
        if (error === null) resolve(result);
        else if (isLost) reject(new LostReply(this.node ?? '', error));
        else reject(new ProblemError(502, `${this.node}: ${error}`));
      };
      const late = setTimeout(settle, CALL_LIMIT_MS[method], lost('no answer in time'));
      const abort = () => settle(lost('the call was cancelled'));
      signal?.addEventListener('abort', abort);
      this.calls.set(id, settle);
      this.send({ type: 'call', id, method, instance_id: instanceId, params });
    });
  }

  /** Throws as `call`. */
  async openShell(instanceId: string, size: ShellSize, listen: (message: ShellOutput) => void): Promise<NodeShell> {
    const shell = randomUUID();
    const close = () => {
      if (this.shells.delete(shell)) this.send({ type: 'shell', shell, message: { type: 'close' } });
    };
    this.shells.set(shell, listen);
    try {
      await this.call('open_shell', instanceId, { shell, ...size });
    } catch (error) {
      close();
      throw error;
    }
    return {
      tell: (message) => {
        if (!this.shells.has(shell) || this.socket.bufferedAmount > TYPED_BACKLOG_BYTES) return false;
        this.send({ type: 'shell', shell, message });
        return true;
      },
      close,
    };
  }

  private takeShell(shell: string, message: ShellOutput): void {
    const listen = this.shells.get(shell);
    if (message.type === 'ended') this.shells.delete(shell);
    listen?.(message);
  }

  cut(): void {
    this.socket.terminate();
  }

  private takeReport(text: string): void {
    this.handlers.alive(this);
    this.slowDown(text.length);
    if (text.length > REPORT_BYTES && this.calls.size === 0)
      return void this.invalid(`it has more than ${REPORT_BYTES / 1024 / 1024} MB, which nobody asked for`);
    const message = this.parse(text);
    if (!message) return;
    if (isHello(message)) this.invalid('a second hello');
    else if (message.type === 'reply') this.calls.get(message.id)?.(message);
    else if (message.type === 'shell') this.takeShell(message.shell, message.message);
    else this.handlers.report(this, message);
  }

  /** Reads nothing until what was received is within the pace of the node. */
  private slowDown(bytes: number): void {
    const waitMs = Math.max(this.pace!.bytes.take(bytes), this.pace!.messages.take(1));
    if (waitMs === 0 || this.socket.isPaused) return;
    this.socket.pause();
    this.readsSinceMs = Number.POSITIVE_INFINITY;
    this.handlers.slowed();
    setTimeout(() => {
      this.readsSinceMs = performance.now();
      this.socket.resume();
    }, waitMs).unref();
  }

  private async hello(hello: Hello, admitted: () => void): Promise<void> {
    if (this.greeting) return this.refuse('a second hello');
    this.greeting = true;
    let admission: Admission;
    try {
      admission = await this.handlers.admit(hello);
    } catch {
      // The store is away; the agent will reconnect.
      return this.socket.terminate();
    }
    if (this.socket.readyState !== this.socket.OPEN) return;
    if (!admission.admitted) return this.refuse(admission.why, admission.credentialRevoked);
    admitted();
    this.node = hello.node;
    this.pace = this.handlers.paceOf(hello.node);
    this.visitor.admit();
    this.send({
      type: 'welcome',
      node: hello.node,
      server_version: this.settings.serverVersion,
    });
    const desired = this.handlers.welcomed(this, hello);
    if (desired) this.tell(desired);
  }

  /** Ends the connection and tells the agent why. */
  refuse(detail: string, credential_revoked = false): void {
    this.send({ type: 'refused', detail, credential_revoked });
    this.visitor.dismiss(1008, 'refused');
  }

  private send(message: ServerMessage): void {
    if (this.socket.bufferedAmount > BACKLOG_BYTES) this.socket.terminate();
    else if (this.socket.readyState === this.socket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** Ends the connection of a guest at once, that of an agent after some more. */
  private invalid(why: string): void {
    if (!this.node) {
      this.refuse(`invalid message: ${why}`);
      return;
    }
    this.handlers.invalid(this, why);
    if (++this.invalidCount >= MAX_INVALID) this.refuse(`${MAX_INVALID} invalid messages, the last: ${why}`);
  }

  /** Null: it was refused. */
  private parse(text: string): AgentMessage | null {
    let content: unknown;
    try {
      content = JSON.parse(text);
    } catch {
      this.invalid('not JSON');
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
    this.invalid(`${first?.pointer} ${first?.detail}`.slice(0, MAX_WHY));
    return null;
  }
}

function isHello(message: AgentMessage): message is Hello {
  return message.type === 'hello' || message.type === 'switch-hello';
}

/** Protocol version of a hello of another version, whose other fields may differ; null: same version, or not a hello. */
function otherProtocol(content: unknown): number | null {
  const hello = OtherHello.safeParse(content);
  return hello.success && hello.data.protocol !== AGENT_PROTOCOL ? hello.data.protocol : null;
}
