import type { Readable } from 'node:stream';
import type { FieldError, Problem } from '@orrery/contract';
import { Pool } from 'undici';
import { ProblemError } from '../../platform/problem.js';

const ANSWER_LIMIT_MS = 15_000;
/** Statuses of twind that concern the caller's request. */
const PASSED_ON = new Set([404, 409, 413, 422, 429]);

/** HTTP to twind over its unix socket. */
export class TwindClient {
  private readonly pool: Pool;

  constructor(socketPath: string) {
    this.pool = new Pool('http://twind', {
      socketPath,
      connections: 8,
      headersTimeout: ANSWER_LIMIT_MS,
      bodyTimeout: 0,
    });
  }

  /** Throws 502 if twind is away or fails, or `signal` aborts, or its own problem if it rejects the request. */
  async json<T>(
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<T> {
    const payload =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    return this.answer<T>(method, path, { ...payload, ...(signal ? { signal } : {}) });
  }

  /** Whether twind serves. */
  answers(limitMs = ANSWER_LIMIT_MS): Promise<boolean> {
    return this.json('GET', '/health', undefined, AbortSignal.timeout(limitMs)).then(
      () => true,
      () => false,
    );
  }

  upload<T>(path: string, body: Readable | Buffer): Promise<T> {
    return this.answer<T>('POST', path, { body, headers: { 'content-type': 'application/octet-stream' } });
  }

  /** Lines of NDJSON until the stream ends or `signal` aborts. Throws if the stream breaks. */
  async *lines(path: string, signal: AbortSignal): AsyncGenerator<unknown> {
    const { statusCode, body } = await this.pool.request({ method: 'GET', path, signal });
    if (statusCode !== 200) {
      await body.dump();
      throw new Error(`twind answers ${statusCode} to ${path}`);
    }
    body.setEncoding('utf8');
    let rest = '';
    for await (const chunk of unbroken(body, signal)) {
      const parts = (rest + String(chunk)).split('\n');
      rest = parts.pop()!;
      for (const part of parts) if (part !== '') yield JSON.parse(part);
    }
  }

  async close(): Promise<void> {
    await this.pool.destroy();
  }

  private async answer<T>(
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    payload: { body?: string | Buffer | Readable; headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<T> {
    let statusCode: number;
    let text: string;
    try {
      const response = await this.pool.request({ method, path, ...payload });
      statusCode = response.statusCode;
      text = await response.body.text();
    } catch (error) {
      throw new ProblemError(502, `The twin does not answer: ${(error as Error).message}`);
    }
    if (statusCode >= 200 && statusCode < 300) return (text === '' ? undefined : JSON.parse(text)) as T;
    throw refusal(statusCode, text);
  }
}

/** The chunks of a stream; throws what `signal` aborts with, or in plain words that the stream broke. */
async function* unbroken(stream: Readable, signal: AbortSignal): AsyncGenerator<unknown> {
  try {
    yield* stream;
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error('the connection to twind broke', { cause });
  }
}

function refusal(status: number, text: string): ProblemError {
  let problem: Partial<Problem> = {};
  try {
    problem = JSON.parse(text) as Partial<Problem>;
  } catch {
    // Not problem details: only the status is used.
  }
  const errors: readonly FieldError[] = problem.errors ?? [];
  const detail = [problem.title, problem.detail].filter(Boolean).join(': ') || `twind answers ${status}`;
  return new ProblemError(PASSED_ON.has(status) ? status : 502, `The twin: ${detail}`, errors);
}
