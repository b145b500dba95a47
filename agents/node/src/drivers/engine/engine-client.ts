import { createConnection, type Socket } from 'node:net';
import {
  ENGINE_LINE_LIMIT,
  EngineDescription,
  type EngineError as EngineErrorSchema,
  type EngineGraph,
  type EngineRequest,
  EngineResponse,
  EngineStats,
} from '@orrery/contract';
import { z } from 'zod';

type EngineError = z.infer<typeof EngineErrorSchema>;

/** The engine's own refusal, word for word. */
export class EngineRefusal extends Error {
  override name = 'EngineRefusal';
  constructor(readonly error: EngineError) {
    super(error.pointer ? `${error.detail} (at ${error.pointer})` : error.detail);
  }
}

/** No answer in time, or no connection: nothing is known about what the engine did. */
export class EngineUnreachable extends Error {
  override name = 'EngineUnreachable';
}

type Method = EngineRequest['method'];
type Params<M extends Method> = Extract<EngineRequest, { method: M }>['params'];

/** A new graph may start ports and compile patterns; everything else is a matter of microseconds. */
const LIMIT_MS: Record<Method, number> = {
  describe: 3000,
  stats: 3000,
  apply: 20_000,
  get_state: 5000,
  export_state: 10_000,
  import_state: 10_000,
  shutdown: 3000,
};

/** Requests that may wait for their turn. */
const QUEUE_LIMIT = 64;

const Result = z.record(z.string(), z.unknown());

interface Pending {
  id: number;
  method: Method;
  resolve(result: Record<string, unknown>): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

/** One connection to an engine. Requests go one after the other, so a slow one delays but never overlaps the next. */
export class EngineClient {
  private buffer: Buffer[] = [];
  private buffered = 0;
  private pending: Pending | null = null;
  private tail: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private nextId = 1;
  private failure: Error | null = null;

  private constructor(
    private readonly socket: Socket,
    private readonly onFailure: (error: Error) => void,
  ) {
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('error', (error) => this.fail(new EngineUnreachable(error.message)));
    socket.on('close', () => this.fail(new EngineUnreachable('the engine closed its control socket')));
  }

  /** `onFailure` is called once, when the connection ends or an answer is overdue. */
  static connect(path: string, onFailure: (error: Error) => void): Promise<EngineClient> {
    return new Promise((resolve, reject) => {
      const socket = createConnection(path);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        socket.unref();
        resolve(new EngineClient(socket, onFailure));
      });
    });
  }

  /** Whether a request is under way. */
  get busy(): boolean {
    return this.waiting > 0;
  }

  async describe(): Promise<EngineDescription> {
    return EngineDescription.parse(await this.request('describe', {}));
  }

  async stats(): Promise<EngineStats> {
    return EngineStats.parse(await this.request('stats', {}));
  }

  async apply(graph: EngineGraph): Promise<void> {
    await this.request('apply', graph);
  }

  async getState(module: string, limit: number): Promise<Record<string, unknown>> {
    return this.request('get_state', { module, limit });
  }

  async exportState(module: string): Promise<Record<string, unknown>> {
    return this.request('export_state', { module });
  }

  async importState(module: string, state: Record<string, unknown>): Promise<void> {
    await this.request('import_state', { module, state });
  }

  async shutdown(): Promise<void> {
    await this.request('shutdown', {});
  }

  close(): void {
    this.fail(new EngineUnreachable('closed'), false);
  }

  private request<M extends Method>(method: M, params: Params<M>): Promise<Record<string, unknown>> {
    if (this.waiting >= QUEUE_LIMIT) return Promise.reject(new Error(`${QUEUE_LIMIT} requests wait for the engine`));
    this.waiting++;
    const result = this.tail.then(() => this.send(method, params)).finally(() => this.waiting--);
    this.tail = result.catch(() => undefined);
    return result;
  }

  private send(method: Method, params: unknown): Promise<Record<string, unknown>> {
    if (this.failure) return Promise.reject(this.failure);
    const id = this.nextId++;
    const line = `${JSON.stringify({ id, method, params })}\n`;
    if (Buffer.byteLength(line) > ENGINE_LINE_LIMIT)
      return Promise.reject(new Error(`${method}: the request is longer than ${ENGINE_LINE_LIMIT} bytes`));
    return new Promise((resolve, reject) => {
      const limit = LIMIT_MS[method];
      const timer = setTimeout(
        () => this.fail(new EngineUnreachable(`the engine did not answer \`${method}\` within ${limit} ms`)),
        limit,
      );
      this.pending = { id, method, resolve, reject, timer };
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
      this.fail(new EngineUnreachable(`the engine sent a line longer than ${ENGINE_LINE_LIMIT} bytes`));
  }

  private line(text: string): void {
    const { pending } = this;
    try {
      const response = parseAnswer(text, pending?.id ?? null);
      if (!pending) throw new Error('nobody asked for it');
      clearTimeout(pending.timer);
      this.pending = null;
      if ('error' in response) pending.reject(new EngineRefusal(response.error));
      else pending.resolve(Result.parse(response.result));
    } catch (error) {
      this.fail(new EngineUnreachable(`not the engine's answer: ${(error as Error).message.slice(0, 200)}`));
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

/** The engine names no request in its answer to a line that it could not read. */
function parseAnswer(text: string, expected: number | null): z.infer<typeof EngineResponse> {
  const response = EngineResponse.parse(JSON.parse(text));
  if (response.id === expected || ('error' in response && response.id === null)) return response;
  throw new Error(`it is for request ${response.id} and not ${expected}`);
}
