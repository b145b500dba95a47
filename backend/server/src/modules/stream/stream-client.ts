import { fieldErrors, STREAM_ALIVE_MS, StreamClientMessage, type StreamServerMessage } from '@orrery/contract';
import type { WebSocket } from 'ws';
import type { Visitor } from '../../platform/sockets.js';
import type { EventSource } from '../../ports/event-log.js';
import type { SessionVerifier } from '../../ports/session-verifier.js';
import { EventPump } from './event-pump.js';
import { SampleMailbox } from './sample-mailbox.js';

const AUTHENTICATE_LIMIT_MS = 5000;
/** Samples wait (and coalesce) while this much is unsent. */
const SAMPLES_BACKLOG_BYTES = 64 * 1024;
/** Events wait in the log, not in memory, while this much is unsent. */
const EVENTS_BACKLOG_BYTES = 1024 * 1024;
/** A client that reads nothing for this long is disconnected. */
const STUCK_MS = 20_000;
const PING_MS = 15_000;

export interface StreamContext {
  readonly sessions: SessionVerifier;
  readonly source: EventSource;
  readonly version: string;
  /** Takes a place for a client of the session; returns a function that gives it back. Null: there is none. */
  place(token: string): (() => void) | null;
  ready(client: StreamClient): void;
  closed(client: StreamClient): void;
  cut(): void;
}

/** One console: authenticates, then gets every event in order and the newest samples. */
export class StreamClient {
  readonly mailbox = new SampleMailbox();
  private pump: EventPump | null = null;
  private unwatch: (() => void) | null = null;
  private leave: (() => void) | null = null;
  private authenticating = false;
  private ready = false;
  private heardMs = performance.now();
  /** Monotonic clock. */
  private sentMs = performance.now();
  private readonly pings: NodeJS.Timeout;

  constructor(
    private readonly socket: WebSocket,
    private readonly visitor: Visitor,
    private readonly context: StreamContext,
  ) {
    const limit = setTimeout(() => this.ready || this.refuse('authenticate first'), AUTHENTICATE_LIMIT_MS);
    this.pings = setInterval(() => this.checkAlive(), PING_MS);
    socket.on('message', (data, binary) => {
      if (socket.readyState !== socket.OPEN) return;
      this.heardMs = performance.now();
      void this.take(binary ? null : data.toString());
    });
    socket.on('pong', () => {
      this.heardMs = performance.now();
    });
    socket.on('close', () => {
      clearTimeout(limit);
      clearInterval(this.pings);
      this.pump?.end();
      this.unwatch?.();
      this.leave?.();
      this.context.closed(this);
    });
  }

  /** Sends new samples, or a sign of life where nothing else was sent for a while, unless the client is behind. */
  flush(): void {
    if (this.socket.bufferedAmount > SAMPLES_BACKLOG_BYTES) return;
    const message = this.mailbox.take();
    if (message) this.send(message);
    else if (performance.now() - this.sentMs >= STREAM_ALIVE_MS) this.send({ type: 'alive' });
  }

  private async take(text: string | null): Promise<void> {
    let content: unknown;
    try {
      content = JSON.parse(text ?? '');
    } catch {
      return this.refuse('messages are JSON');
    }
    const parsed = StreamClientMessage.safeParse(content);
    if (!parsed.success) {
      const [first] = fieldErrors(parsed.error);
      return this.refuse(`${first?.pointer} ${first?.detail}`);
    }
    if (parsed.data.type === 'subscribe') {
      if (!this.authenticating) return this.refuse('authenticate first');
      return this.mailbox.subscribe(parsed.data.samples);
    }
    await this.authenticate(parsed.data.token, parsed.data.after);
  }

  private async authenticate(token: string, after: string | undefined): Promise<void> {
    if (this.authenticating) return this.refuse('authenticated already');
    this.authenticating = true;
    const session = await this.context.sessions.verify(token).catch(() => undefined);
    if (session === undefined) return this.visitor.dismiss(1013, 'the store is away');
    if (session === null) return this.refuse('the token is not valid');
    if (this.socket.readyState !== this.socket.OPEN) return;
    this.leave = this.context.place(token);
    if (!this.leave) return this.visitor.dismiss(1013, 'too many clients');
    this.visitor.admit();
    this.unwatch = this.context.sessions.watch(token, session, () => this.refuse('the session is over'));
    const from = after ?? this.context.source.latest;
    this.ready = true;
    this.send({ type: 'ready', at: from, server_version: this.context.version });
    this.context.ready(this);
    const reader = {
      event: (event: Extract<StreamServerMessage, { type: 'event' }>['event']) => {
        this.send({ type: 'event', event });
        return this.room();
      },
      reset: (snapshotAt: string) => this.send({ type: 'reset', snapshot_at: snapshotAt }),
    };
    this.pump = new EventPump(this.context.source, reader, from, () => this.socket.close(1013, 'resume'));
  }

  /** Resolves when the client has caught up enough; disconnects it if it does not. */
  private async room(): Promise<void> {
    const since = performance.now();
    while (this.socket.bufferedAmount > EVENTS_BACKLOG_BYTES) {
      if (performance.now() - since > STUCK_MS || this.socket.readyState !== this.socket.OPEN) {
        this.context.cut();
        this.socket.terminate();
        throw new Error('the client does not read');
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  private checkAlive(): void {
    if (performance.now() - this.heardMs > 2 * PING_MS + 1000) {
      this.context.cut();
      this.socket.terminate();
    } else if (this.socket.readyState === this.socket.OPEN) this.socket.ping();
  }

  private refuse(detail: string): void {
    this.send({ type: 'refused', detail });
    this.visitor.dismiss(1008, 'refused');
  }

  private send(message: StreamServerMessage): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    this.socket.send(JSON.stringify(message));
    this.sentMs = performance.now();
  }
}
