import { createConnection, type Socket } from 'node:net';
import { ENGINE_LINE_LIMIT, type EngineError, EngineResponse } from '@orrery/contract';
import { z } from 'zod';

type ControlError = z.infer<typeof EngineError>;

/** The peer's own error, verbatim. */
export class Refusal extends Error {
  override name = 'Refusal';
  constructor(readonly error: ControlError) {
    super(error.pointer ? `${error.detail} (at ${error.pointer})` : error.detail);
  }

  /** The same request would be refused again. */
  get permanent(): boolean {
    return ['bad-request', 'invalid-graph', 'invalid-config'].includes(this.error.code);
  }
}

/** No answer in time, or no connection: whether the peer acted is unknown. */
export class Unreachable extends Error {
  override name = 'Unreachable';
}

/** Requests that may be queued. */
const QUEUE_LIMIT = 64;

const Result = z.record(z.string(), z.unknown());

interface Pending {
  id: number;
  resolve(result: Record<string, unknown>): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

/**
 * One connection to a peer that speaks the engine's control protocol; messages call it `peer`. Requests are sent one
 * after the other, so a slow one delays but never overlaps the next.
 */
export class ControlClient {
  private buffer: Buffer[] = [];
  private buffered = 0;
  private pending: Pending | null = null;
  private tail: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private nextId = 1;
  private failure: Error | null = null;

  private constructor(
    private readonly socket: Socket,
    private readonly peer: string,
    private readonly onFailure: (error: Error) => void,
  ) {
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('error', (error) => this.fail(new Unreachable(error.message)));
    socket.on('close', () => this.fail(new Unreachable(`${peer} closed its control socket`)));
  }

  /** `onFailure` is called once, when the connection ends or an answer is overdue. */
  static connect(path: string, peer: string, onFailure: (error: Error) => void): Promise<ControlClient> {
    return new Promise((resolve, reject) => {
      const socket = createConnection(path);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        socket.unref();
        resolve(new ControlClient(socket, peer, onFailure));
      });
    });
  }

  /** Whether a request is in flight. */
  get busy(): boolean {
    return this.waiting > 0;
  }

  close(): void {
    this.fail(new Unreachable('closed'), false);
  }

  /**
   * Rejects with a Refusal, or with Unreachable if no answer arrives within the limit; the connection is then closed.
   */
  request(method: string, params: unknown, limit_ms: number): Promise<Record<string, unknown>> {
    if (this.waiting >= QUEUE_LIMIT) return Promise.reject(new Error(`${QUEUE_LIMIT} requests wait for ${this.peer}`));
    this.waiting++;
    const result = this.tail.then(() => this.send(method, params, limit_ms)).finally(() => this.waiting--);
    this.tail = result.catch(() => undefined);
    return result;
  }

  private send(method: string, params: unknown, limit_ms: number): Promise<Record<string, unknown>> {
    if (this.failure) return Promise.reject(this.failure);
    const id = this.nextId++;
    const line = `${JSON.stringify({ id, method, params })}\n`;
    if (Buffer.byteLength(line) > ENGINE_LINE_LIMIT)
      return Promise.reject(new Error(`${method}: the request is longer than ${ENGINE_LINE_LIMIT} bytes`));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.fail(new Unreachable(`${this.peer} did not answer \`${method}\` within ${limit_ms} ms`)),
        limit_ms,
      );
      this.pending = { id, resolve, reject, timer };
      this.socket.write(line);
    });
  }

  private receive(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      this.line(Buffer.concat([...this.buffer, rest.subarray(0, end)]).toString('utf8'));
      this.buffer = [];
      this.buffered = 0;
      rest = rest.subarray(end + 1);
    }
    if (rest.length === 0) return;
    this.buffer.push(rest);
    this.buffered += rest.length;
    if (this.buffered > ENGINE_LINE_LIMIT)
      this.fail(new Unreachable(`${this.peer} sent a line longer than ${ENGINE_LINE_LIMIT} bytes`));
  }

  private line(text: string): void {
    const { pending } = this;
    try {
      const response = parseAnswer(text, pending?.id ?? null);
      if (!pending) throw new Error('no request is pending');
      clearTimeout(pending.timer);
      this.pending = null;
      if ('error' in response) pending.reject(new Refusal(response.error));
      else pending.resolve(Result.parse(response.result));
    } catch (error) {
      this.fail(new Unreachable(`not an answer of ${this.peer}: ${(error as Error).message.slice(0, 200)}`));
    }
  }

  private fail(error: Error, report = true): void {
    if (this.failure) return;
    this.failure = error;
    this.socket.destroy();
    if (this.pending) {
      clearTimeout(this.pending.timer);
      this.pending.reject(error);
      this.pending = null;
    }
    if (report) this.onFailure(error);
  }
}

/** The answer to a line that could not be parsed names no request. */
function parseAnswer(text: string, expected: number | null): z.infer<typeof EngineResponse> {
  const response = EngineResponse.parse(JSON.parse(text));
  if (response.id === expected || ('error' in response && response.id === null)) return response;
  throw new Error(`it is for request ${response.id}, not ${expected}`);
}
