import { join } from 'node:path';
import { type ChainableCommander, Redis, type RedisOptions } from 'ioredis';
import type { Config } from './config.js';
import type { Log } from './log.js';
import { unavailable } from './problem.js';
import { freeBytes, RedisServer } from './redis-server.js';
import type { StoreRoom } from './store-pressure.js';

export const STORE = Symbol('Store');
export type Transaction = ChainableCommander;

/** What the answer to a blocking read may take beyond the time that it blocks. */
const OVERDUE_MS = 2000;

/** The connection to Redis and, unless REDIS_URL is set, the process behind it. */
export class Store {
  readonly redis: Redis;
  private readonly blocking: Redis[] = [];

  private constructor(
    readonly server: RedisServer | null,
    private readonly options: { readonly url: string | null; readonly path: string | null },
    private readonly log: Log,
  ) {
    // Commands with unknown outcome are not resent: their callers decide.
    this.redis = this.connect({
      autoResendUnfulfilledCommands: false,
      commandTimeout: 10_000,
      maxRetriesPerRequest: 30,
    });
    this.redis.on('close', () => failUnanswered(this.redis));
  }

  static async open(config: Config, log: Log): Promise<Store> {
    if (config.redisUrl) {
      const store = new Store(null, { url: config.redisUrl, path: null }, log);
      await store.redis.ping();
      return store;
    }
    const server = new RedisServer(config.runDir, join(config.stateDir, 'redis'), log, {
      maxMemoryBytes: config.storeMemoryBytes,
      freeBytes,
      diskCheckMs: 1000,
    });
    await server.start();
    const store = new Store(server, { url: null, path: server.socketPath }, log);
    await store.redis.ping();
    return store;
  }

  /**
   * A separate connection for reads that block for at most `blockMs`. If an answer is overdue, it connects again and repeats
   * the read: a network path that drops everything closes no connection.
   */
  blockingConnection(blockMs: number): Redis {
    const connection = this.connect({ maxRetriesPerRequest: null, socketTimeout: blockMs + OVERDUE_MS });
    this.blocking.push(connection);
    return connection;
  }

  /** Atomic. Throws 503 if the outcome is unknown, or if Redis is away or takes no changes. */
  async transact(fill: (transaction: Transaction) => void): Promise<unknown[]> {
    const transaction = this.redis.multi();
    fill(transaction);
    let results: [Error | null, unknown][] | null;
    try {
      results = await transaction.exec();
    } catch (error) {
      const { message } = causeOf(error as Error);
      this.log.warn({ error: message }, 'transaction failed');
      if (isAborted(error) && !isStoreAway(error)) throw new Error(message, { cause: error });
      throw unavailable(`${this.whyAway(error)}; read the resource before you try again.`);
    }
    const failed = results?.find(([error]) => error);
    if (!results || failed) throw failed?.[0] ?? new Error('Connection is closed.');
    return results.map(([, value]) => value);
  }

  /** What a caller can be told about a store that is away or takes no changes. */
  whyAway(error: unknown): string {
    if (this.server?.fault) return `The store is stopped: ${this.server.fault}`;
    return refusalOf(error) ?? 'The store is restarting';
  }

  async room(): Promise<StoreRoom> {
    const memory = await this.redis.info('memory');
    const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(memory)?.[1] ?? 0);
    return {
      free_disk_bytes: this.server ? await freeBytes(this.server.dataDir) : null,
      used_memory_bytes: figure('used_memory'),
      max_memory_bytes: figure('maxmemory') || null,
    };
  }

  async json<T>(key: string): Promise<T | null> {
    const text = await this.redis.get(key);
    return text === null ? null : (JSON.parse(text) as T);
  }

  async hashJson<T>(key: string, field: string): Promise<T | null> {
    const text = await this.redis.hget(key, field);
    return text === null ? null : (JSON.parse(text) as T);
  }

  async hashValues<T>(key: string): Promise<T[]> {
    return (await this.redis.hvals(key)).map((text) => JSON.parse(text) as T);
  }

  async close(): Promise<void> {
    for (const connection of [...this.blocking, this.redis]) connection.disconnect();
    await this.server?.stop();
  }

  private connect(options: RedisOptions): Redis {
    const all: RedisOptions = { ...options, retryStrategy: (attempt) => Math.min(20 * attempt, 500) };
    const connection = this.options.url
      ? new Redis(this.options.url, all)
      : new Redis({ ...all, path: this.options.path! });
    connection.on('error', (error: Error) => this.log.debug({ error: error.message }, 'Redis connection'));
    return connection;
  }
}

/** Messages of ioredis, of this file and of a Redis that is loading its files. */
const AWAY = /Connection is closed|Command timed out|Command aborted|^LOADING /;
/** Why Redis takes no changes at all, by its error codes. */
const REFUSALS: readonly (readonly [code: RegExp, why: string])[] = [
  [/^OOM /, 'The store is full: its memory has reached its limit'],
  [/^MISCONF /, 'The store takes no changes: it cannot write to its disk'],
  [/^READONLY /, 'The store takes no changes: its Redis is a replica'],
];

function refusalOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { message } = causeOf(error);
  return REFUSALS.find(([code]) => code.test(message))?.[1] ?? null;
}

const isAborted = (error: unknown) => error instanceof Error && error.message.startsWith('EXECABORT');

/** What Redis said to the first command of a transaction that it refused to queue; of other errors, the error itself. */
function causeOf(error: Error): Error {
  return (isAborted(error) && (error as { previousErrors?: Error[] }).previousErrors?.[0]) || error;
}

/** Whether an error only means that Redis is away, loading, takes no changes or did not answer: a retry may succeed. */
export function isStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === 'MaxRetriesPerRequestError' || AWAY.test(causeOf(error).message) || refusalOf(error) !== null;
}

/**
 * Immediately rejects sent commands that will never get a reply. With `autoResendUnfulfilledCommands` off, ioredis drops
 * them, and its only public setting that rejects them (`maxRetriesPerRequest: 0`) also rejects commands not sent yet.
 */
function failUnanswered(redis: Redis): void {
  const internals = redis as unknown as { flushQueue(error: Error, which: { offlineQueue: boolean }): void };
  internals.flushQueue(new Error('Connection is closed.'), { offlineQueue: false });
}
