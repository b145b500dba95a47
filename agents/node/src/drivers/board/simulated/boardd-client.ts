import { z } from 'zod';
import { firstIssue } from '../../../platform/first-issue.js';
import { BoardError } from '../board-port.js';
import { LineSocket } from './line-socket.js';

const Answer = z.union([
  z.object({ id: z.int(), result: z.unknown() }),
  z.object({
    id: z.int().nullable(),
    error: z.object({ code: z.string(), detail: z.string(), pointer: z.string().nullish() }),
  }),
]);

interface Pending {
  method: string;
  resolve(result: unknown): void;
  reject(error: Error): void;
  limit_ms: number;
}

/** Codes of errors that a retry would only repeat. */
const PERMANENT = new Set(['bad-request', 'image-refused', 'unreadable']);

/** An error reported by boardd. */
export class BoarddRefusal extends BoardError {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message, PERMANENT.has(code) ? 'refused' : 'failed');
  }
}

/** Requests in flight at once. */
const PENDING_LIMIT = 64;
/** Limit from when a request is the oldest: one connection answers in order, behind slow requests. */
const ANSWER_LIMIT_MS = 10_000;

/** Requests to boardd. They may overlap: each answer names its request. */
export class BoarddClient {
  private socket: LineSocket | null = null;
  /** By request number, oldest first. */
  private readonly pending = new Map<number, Pending>();
  private timer: NodeJS.Timeout | null = null;
  private nextId = 1;

  /** `onLost` is called once after `open`, when the connection ends or an answer is overdue. */
  constructor(private readonly onLost: (why: string) => void) {}

  async open(path: string): Promise<void> {
    this.socket = await LineSocket.connect(
      path,
      (line) => this.line(line),
      (why) => this.lose(why),
    );
  }

  close(): void {
    this.end('closed');
  }

  /** The validated result. Rejects with a BoardError. */
  async call<S extends z.ZodType>(
    method: string,
    params: unknown,
    result: S,
    limit_ms = ANSWER_LIMIT_MS,
  ): Promise<z.infer<S>> {
    const parsed = result.safeParse(await this.request(method, params, limit_ms));
    if (!parsed.success) throw new BoardError(`${method}: boardd answered ${firstIssue(parsed.error)}`, 'failed');
    return parsed.data;
  }

  private request(method: string, params: unknown, limit_ms: number): Promise<unknown> {
    const { socket } = this;
    if (!socket) return Promise.reject(new BoardError('the board is not connected', 'lost'));
    if (this.pending.size >= PENDING_LIMIT)
      return Promise.reject(new BoardError(`${PENDING_LIMIT} requests wait for the board`, 'failed'));
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { method, resolve, reject, limit_ms });
      if (this.pending.size === 1) this.awaitOldest();
      socket.send(JSON.stringify({ id, method, params }));
    });
  }

  private line(text: string): void {
    let answer: z.infer<typeof Answer>;
    try {
      answer = Answer.parse(JSON.parse(text));
    } catch {
      this.lose(`not an answer of boardd: ${text.slice(0, 120)}`);
      return;
    }
    const pending = answer.id === null ? undefined : this.pending.get(answer.id);
    if (!pending) {
      this.lose(`unexpected answer from boardd: ${text.slice(0, 120)}`);
      return;
    }
    this.pending.delete(answer.id!);
    this.awaitOldest();
    if ('error' in answer) {
      const { code, detail, pointer } = answer.error;
      pending.reject(new BoarddRefusal(pointer && code === 'bad-request' ? `${detail} (at ${pointer})` : detail, code));
    } else pending.resolve(answer.result);
  }

  private awaitOldest(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    const [oldest] = this.pending.values();
    if (!oldest) return;
    const { method, limit_ms } = oldest;
    this.timer = setTimeout(() => this.lose(`boardd did not answer \`${method}\` within ${limit_ms} ms`), limit_ms);
  }

  private lose(why: string): void {
    if (!this.socket) return;
    this.end(why);
    this.onLost(why);
  }

  private end(why: string): void {
    this.socket?.close();
    this.socket = null;
    const waiting = [...this.pending.values()];
    this.pending.clear();
    this.awaitOldest();
    for (const { reject } of waiting) reject(new BoardError(why, 'lost'));
  }
}
