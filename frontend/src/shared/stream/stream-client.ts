import type { Event, LinkSample, Sample, SloStatus, StreamClientMessage, StreamServerMessage } from '@orrery/contract';
import { compareEventIds } from './event-id.js';

export type StreamState = 'idle' | 'connecting' | 'connected' | 'reconnecting' | 'refused';

export interface StreamStatus {
  readonly state: StreamState;
  /** When `state` began. */
  readonly since_ms: number;
  readonly attempt: number;
  readonly next_attempt_ms: number | null;
  readonly server_version: string | null;
  readonly detail: string | null;
  /** Sample values that the server replaced with newer ones before this browser could receive them. */
  readonly coalesced: number;
  /** Events that came a second time and were ignored. */
  readonly duplicates: number;
}

/** Whether a connection there was is lost, so that what is known of the present may no longer be so. */
export const isCut = ({ state }: Pick<StreamStatus, 'state'>) => state === 'reconnecting' || state === 'refused';

export interface Socket {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onclose: (() => void) | null;
  onmessage: ((message: { data: unknown }) => void) | null;
}

export interface StreamSink {
  status(status: StreamStatus): void;
  event(event: Event): void;
  samples(samples: readonly Sample[], links: readonly LinkSample[], slos: readonly SloStatus[]): void;
  /** The log before this point is gone: read every resource again. */
  reset(): void;
  /** The server did not accept the token. */
  refused(detail: string): void;
}

export interface StreamEnvironment {
  open(): Socket;
  now(): number;
  random(): number;
  after(ms: number, run: () => void): () => void;
}

/** A connection on which nothing arrives for this long is lost, also while the browser still calls it open. */
export const SILENCE_LIMIT_MS = 2500;
export const CONNECT_LIMIT_MS = 10_000;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 8_000;

/** Full jitter over an exponential ceiling, so that many consoles do not return at the same moment. */
export function retryDelayMs(attempt: number, random: number): number {
  const ceiling = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempt, 10));
  return Math.round(ceiling / 2 + (ceiling / 2) * random);
}

/**
 * One connection to `/api/v1/stream`. After an interruption it resumes after the last event that it delivered, and never
 * delivers an event twice, even if the server repeats it.
 */
export class StreamClient {
  #socket: Socket | null = null;
  #token: string | null = null;
  #cancelRetry: (() => void) | null = null;
  #cancelWatch: (() => void) | null = null;
  #lastEventId: string | null = null;
  #prefixes: readonly string[] = [];
  #ready = false;
  #status: StreamStatus;

  constructor(
    private readonly environment: StreamEnvironment,
    private readonly sink: StreamSink,
  ) {
    this.#status = {
      state: 'idle',
      since_ms: environment.now(),
      attempt: 0,
      next_attempt_ms: null,
      server_version: null,
      detail: null,
      coalesced: 0,
      duplicates: 0,
    };
  }

  get status(): StreamStatus {
    return this.#status;
  }
  get lastEventId(): string | null {
    return this.#lastEventId;
  }

  start(token: string): void {
    if (this.#token === token && this.#status.state !== 'refused') return;
    this.stop();
    this.#token = token;
    this.#connect('connecting');
  }

  /** Closes the connection and drops the position in the log. */
  stop(): void {
    this.#token = null;
    this.#lastEventId = null;
    this.#drop();
    this.#set({ state: 'idle', attempt: 0, next_attempt_ms: null, detail: null });
  }

  /** Sets the key prefixes to subscribe to. */
  subscribe(prefixes: readonly string[]): void {
    this.#prefixes = prefixes;
    if (this.#ready) this.#send({ type: 'subscribe', samples: [...prefixes] });
  }

  /** Reconnects immediately, e.g. at the user's request or when the network is back. */
  retryNow(): void {
    if (this.#status.state === 'reconnecting' && this.#cancelRetry) this.#connect('reconnecting');
  }

  /** Replaces a connection that may be dead, e.g. because the browser says that it is offline. */
  renew(): void {
    if (this.#ready) this.#connect('reconnecting');
  }

  #connect(state: StreamState): void {
    this.#drop();
    this.#set({ state, next_attempt_ms: null });
    const socket = this.environment.open();
    this.#socket = socket;
    socket.onopen = () => {
      const after = this.#lastEventId;
      this.#send({ type: 'authenticate', token: this.#token!, ...(after ? { after } : {}) });
    };
    socket.onclose = () => this.#lost();
    socket.onmessage = ({ data }) => {
      this.#watch(SILENCE_LIMIT_MS);
      this.#receive(JSON.parse(String(data)) as StreamServerMessage);
    };
    this.#watch(CONNECT_LIMIT_MS);
  }

  #watch(limitMs: number): void {
    this.#cancelWatch?.();
    this.#cancelWatch = this.environment.after(limitMs, () =>
      this.#lost(`The server was silent for ${limitMs / 1000} s.`),
    );
  }

  #receive(message: StreamServerMessage): void {
    switch (message.type) {
      case 'ready':
        this.#ready = true;
        this.#lastEventId ??= message.at;
        this.#set({
          state: 'connected',
          attempt: 0,
          next_attempt_ms: null,
          server_version: message.server_version,
          detail: null,
        });
        this.#send({ type: 'subscribe', samples: [...this.#prefixes] });
        return;
      case 'event':
        if (this.#lastEventId !== null && compareEventIds(message.event.id, this.#lastEventId) <= 0) {
          this.#set({ duplicates: this.#status.duplicates + 1 });
          return;
        }
        this.#lastEventId = message.event.id;
        this.sink.event(message.event);
        return;
      case 'reset':
        this.#lastEventId = message.snapshot_at;
        this.sink.reset();
        return;
      case 'samples':
        if (message.coalesced > 0) this.#set({ coalesced: this.#status.coalesced + message.coalesced });
        this.sink.samples(message.samples, message.links, message.slos);
        return;
      case 'refused':
        if (this.#ready) {
          this.#set({ detail: message.detail });
          return;
        }
        this.#drop();
        this.#set({ state: 'refused', detail: message.detail });
        this.sink.refused(message.detail);
    }
  }

  #lost(detail: string | null = null): void {
    this.#drop();
    if (this.#token === null) return;
    const attempt = this.#status.attempt + 1;
    const delay = retryDelayMs(attempt, this.environment.random());
    this.#set({ state: 'reconnecting', attempt, next_attempt_ms: this.environment.now() + delay, detail });
    this.#cancelRetry = this.environment.after(delay, () => this.#connect('reconnecting'));
  }

  #drop(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.#cancelWatch?.();
    this.#cancelWatch = null;
    this.#ready = false;
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = null;
    socket.onclose = null;
    socket.onmessage = null;
    socket.close();
  }

  #send(message: StreamClientMessage): void {
    this.#socket?.send(JSON.stringify(message));
  }

  #set(change: Partial<StreamStatus>): void {
    const since_ms =
      change.state !== undefined && change.state !== this.#status.state
        ? this.environment.now()
        : this.#status.since_ms;
    this.#status = { ...this.#status, ...change, since_ms };
    this.sink.status(this.#status);
  }
}
