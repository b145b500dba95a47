import {
  AGENT_PROTOCOL,
  type AgentMessage,
  type ApplicationsSpec,
  HELLO_MOST_BYTES,
  type ObservedApplications,
  ServerMessage,
  type ShellOutput,
  TEXT_MOST,
} from '@orrery/contract';
import { type RawData, WebSocket } from 'ws';
import { backoffMs } from '../platform/backoff.js';
import { firstIssue } from '../platform/first-issue.js';
import { log } from '../platform/log.js';
import type { AgentEvent } from './agent-event.js';
import type { CredentialStore } from './credential-store.js';
import type { EventOutbox } from './event-outbox.js';
import { connectionFault } from './trust.js';

/** The fields of a hello that identify the sender. */
type Identity = 'protocol' | 'node' | 'join_token' | 'credential';
type Hello =
  | Omit<Extract<AgentMessage, { type: 'hello' }>, Identity>
  | Omit<Extract<AgentMessage, { type: 'switch-hello' }>, Identity>;
type Observed = Extract<AgentMessage, { type: 'observed' | 'switch-observed' }>;
type Samples = Extract<AgentMessage, { type: 'samples' | 'switch-samples' }>;
export type Desired = Extract<ServerMessage, { type: 'desired' | 'switch-desired' }>;
export type ShellMessage = Extract<ServerMessage, { type: 'shell' }>;
export type Call = Extract<ServerMessage, { type: 'call' }>;

export interface LinkOptions {
  url: string;
  node: string;
  join_token: string | null;
  /** Certificate authorities (PEM) for `wss://`; `undefined`: Node's. */
  ca: string | undefined;
  retry: { first_ms: number; most_ms: number };
  /** After this much silence the connection is tested; after the same time again it is given up. */
  silence_ms: number;
}

export interface LinkHandlers {
  /** All of `hello` except what identifies the sender to the server. */
  hello(): Promise<Hello>;
  /** `first` of a connection: the server's state wins even if its generation is lower than ours. */
  desired(message: Desired, first: boolean): void;
  /** Absent: this node runs no applications. */
  applications?(spec: ApplicationsSpec): void;
  call(call: Call): Promise<unknown>;
  /** Of a shell that a call opened on this connection. Absent: this node has none. */
  shell?(message: ShellMessage): void;
  /** The connection has ended, and with it what was opened on it. */
  closed?(): void;
  /** An invalid message; `why` names the field. */
  invalid(why: string): void;
}

export const DEFAULT_LINK = { retry: { first_ms: 250, most_ms: 10_000 }, silence_ms: 5000 };

const WELCOME_LIMIT_MS = 10_000;
/** As much as the server buffers for one agent. */
export const INBOUND_LIMIT_BYTES = 64 * 1024 * 1024;
/** Bytes that our own send buffer may hold before samples are dropped; samples must never delay an event. */
const SAMPLES_BACKLOG_BYTES = 256 * 1024;
const EVENTS_BACKLOG_BYTES = 4 * 1024 * 1024;

/** The one outbound connection of an agent; reconnects until stopped. */
export class ServerLink {
  private socket: WebSocket | null = null;
  private welcomed = false;
  private attempt = 0;
  private retryTimer: NodeJS.Timeout | null = null;
  private stopped = false;
  private renewing = false;
  private latest: Observed | null = null;
  private latestApplications: ObservedApplications | null = null;

  constructor(
    private readonly options: LinkOptions,
    private readonly credentials: CredentialStore,
    private readonly outbox: EventOutbox,
    private readonly handlers: LinkHandlers,
  ) {}

  get connected(): boolean {
    return this.welcomed;
  }

  start(): void {
    if (!this.stopped) this.connect();
  }

  /** Says hello again over a new connection, because its content has changed. */
  renew(): void {
    this.renewing = true;
    if (this.welcomed) this.socket?.close(1000);
  }

  /** Sends what is buffered, then closes. */
  async stop(): Promise<void> {
    this.stopped = true;
    if (this.retryTimer) clearTimeout(this.retryTimer);
    const { socket } = this;
    if (!socket) return;
    this.flushEvents();
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => socket.terminate(), 1000);
      socket.once('close', () => {
        clearTimeout(late);
        resolve();
      });
      socket.close(1001);
    });
  }

  /** The newest observed state; while disconnected, the next `hello` carries it. */
  observed(observed: Observed): void {
    this.latest = observed;
    if (this.welcomed) this.send(observed);
  }

  /** The newest report on applications, now and after each welcome. */
  applications(observed: ObservedApplications): void {
    this.latestApplications = observed;
    if (this.welcomed) this.send({ type: 'applications', observed });
  }

  event(event: AgentEvent): void {
    this.outbox.add(event);
    this.flushEvents();
  }

  /** False if they cannot be sent now. */
  samples(samples: Samples): boolean {
    if (!this.welcomed || this.socket!.bufferedAmount > SAMPLES_BACKLOG_BYTES) return false;
    return this.send(samples);
  }

  /** Lost if there is no connection: shells end with it. */
  shell(shell: string, message: ShellOutput): void {
    this.send({ type: 'shell', shell, message });
  }

  private connect(): void {
    const socket = new WebSocket(this.options.url, {
      maxPayload: INBOUND_LIMIT_BYTES,
      perMessageDeflate: false,
      handshakeTimeout: WELCOME_LIMIT_MS,
      ca: this.options.ca,
      rejectUnauthorized: true,
    });
    this.socket = socket;
    let why = '';
    let firstDesired = true;
    const watch = watchSilence(socket, this.options.silence_ms);
    const welcomeTimer = setTimeout(() => {
      why = 'no welcome';
      socket.terminate();
    }, WELCOME_LIMIT_MS);
    socket.on('open', () => void this.hello(socket));
    socket.on('message', (data, binary) => {
      const message = this.parse(data, binary);
      if (!message) return;
      switch (message.type) {
        case 'welcome':
          clearTimeout(welcomeTimer);
          return this.welcome(message);
        case 'refused':
          why = `refused: ${message.detail}`;
          if (message.credential_revoked && this.options.join_token !== null) this.credentials.renew();
          return socket.close();
        case 'applications':
          return this.handlers.applications?.(message.spec);
        case 'desired':
        case 'switch-desired':
          this.handlers.desired(message, firstDesired);
          firstDesired = false;
          return;
        case 'shell':
          return this.handlers.shell?.(message);
        case 'call':
          return void this.answer(socket, message);
      }
    });
    socket.on('error', (error) => {
      why ||= connectionFault(error);
    });
    socket.on('close', (code) => {
      clearTimeout(welcomeTimer);
      watch.stop();
      if (this.stopped || this.renewing) log('info', `connection to ${this.options.url} closed`);
      else if (this.welcomed) log('warning', `connection to ${this.options.url} ended: ${why || `code ${code}`}`);
      else if (this.attempt === 0 || why.startsWith('refused'))
        log('warning', `no connection to ${this.options.url}: ${why || `code ${code}`}`);
      this.welcomed = false;
      this.socket = null;
      this.handlers.closed?.();
      this.retry();
    });
  }

  private retry(): void {
    if (this.stopped) return;
    if (this.renewing) {
      this.renewing = false;
      this.connect();
      return;
    }
    this.attempt++;
    const wait_ms = backoffMs(this.options.retry, this.attempt, Math.random());
    this.retryTimer = setTimeout(() => this.connect(), wait_ms);
  }

  private async hello(socket: WebSocket): Promise<void> {
    this.renewing = false;
    const hello = await this.handlers.hello();
    if (socket.readyState !== WebSocket.OPEN) return;
    const identity = {
      protocol: AGENT_PROTOCOL,
      node: this.options.node,
      // Both: a server that lost its state knows no credential but may know a new token.
      join_token: this.options.join_token,
      credential: this.credentials.get(),
    };
    const whole = { ...hello, ...identity };
    if (Buffer.byteLength(textOf(whole)) <= HELLO_MOST_BYTES) this.send(whole);
    else {
      // Follows after the welcome.
      this.latest ??= reportOf(hello);
      this.send({ ...hello, ...identity, observed: null });
    }
  }

  private welcome({ server_version }: Extract<ServerMessage, { type: 'welcome' }>): void {
    this.attempt = 0;
    this.welcomed = true;
    if (this.renewing) {
      this.renew();
      return;
    }
    log('info', `connected to ${this.options.url} (server ${server_version})`);
    // Changes since `hello` was written.
    if (this.latest) this.send(this.latest);
    if (this.latestApplications) this.send({ type: 'applications', observed: this.latestApplications });
    this.flushEvents();
  }

  private async answer(socket: WebSocket, call: Call): Promise<void> {
    let reply: Extract<AgentMessage, { type: 'reply' }>;
    try {
      reply = { type: 'reply', id: call.id, result: await this.handlers.call(call), error: null };
    } catch (error) {
      reply = { type: 'reply', id: call.id, error: (error as Error).message };
    }
    if (socket === this.socket) this.send(reply);
  }

  private flushEvents(): void {
    if (!this.welcomed) return;
    this.outbox.drain(
      this.options.node,
      Date.now(),
      (event) => this.socket!.bufferedAmount < EVENTS_BACKLOG_BYTES && this.send({ type: 'event', ...event }),
    );
  }

  private send(message: AgentMessage): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(textOf(message));
    return true;
  }

  private parse(data: RawData, binary: boolean): ServerMessage | null {
    try {
      if (binary) throw new Error('a binary message');
      const parsed = ServerMessage.safeParse(JSON.parse(data.toString()));
      if (parsed.success) return parsed.data;
      this.handlers.invalid(firstIssue(parsed.error));
    } catch (error) {
      this.handlers.invalid((error as Error).message);
    }
    return null;
  }
}

/** What the server would refuse as too long is shortened; the state of an NF, in replies, and what a shell writes never are. */
function textOf(message: AgentMessage): string {
  const whole = ['reply', 'samples', 'shell'].includes(message.type);
  return whole ? JSON.stringify(message) : JSON.stringify(message, shortened);
}

function reportOf(hello: Hello): Observed | null {
  if (hello.type === 'hello') return hello.observed && { type: 'observed', observed: hello.observed };
  return hello.observed && { type: 'switch-observed', observed: hello.observed };
}

function shortened(_: string, value: unknown): unknown {
  return typeof value === 'string' && value.length > TEXT_MOST ? `${value.slice(0, TEXT_MOST - 1)}…` : value;
}

/** Closes a connection whose peer is silently gone. */
function watchSilence(socket: WebSocket, silence_ms: number): { stop(): void } {
  let heard = true;
  const note = () => {
    heard = true;
  };
  for (const sign of ['message', 'ping', 'pong'] as const) socket.on(sign, note);
  const timer = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (!heard) return socket.terminate();
    heard = false;
    socket.ping();
  }, silence_ms);
  return { stop: () => clearInterval(timer) };
}
