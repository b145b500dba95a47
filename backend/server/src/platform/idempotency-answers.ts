import type { Metrics } from './metrics.js';
import type { Store } from './redis.js';
import { KEYS } from './redis-keys.js';

export const KEEP_S = 86_400;

export interface AnswerBounds {
  readonly answers: number;
  readonly bytes: number;
}

const BOUNDS: AnswerBounds = { answers: 10_000, bytes: 32 * 1024 * 1024 };

/**
 * KEYS: answer, order of use, sizes, sum of sizes. `drop` forgets one answer. Sizes are kept apart, because an answer that has
 * expired has none.
 */
const DROP = `
local function drop(key)
  redis.call('decrby', KEYS[4], tonumber(redis.call('hget', KEYS[3], key) or '0'))
  redis.call('hdel', KEYS[3], key)
  redis.call('zrem', KEYS[2], key)
  redis.call('del', key)
end
`;

/** ARGV: value, now in ms, `NX` or empty, most answers, most bytes. Returns what was stored before with NX, and what was evicted. */
const PUT = `${DROP}
local found = redis.call('get', KEYS[1])
if found and ARGV[3] == 'NX' then
  redis.call('zadd', KEYS[2], 'XX', ARGV[2], KEYS[1])
  return {found, 0}
end
drop(KEYS[1])
redis.call('set', KEYS[1], ARGV[1], 'EX', ${KEEP_S})
redis.call('zadd', KEYS[2], ARGV[2], KEYS[1])
redis.call('hset', KEYS[3], KEYS[1], #ARGV[1])
redis.call('incrby', KEYS[4], #ARGV[1])
local evicted = 0
for _, old in ipairs(redis.call('zrangebyscore', KEYS[2], '-inf', tonumber(ARGV[2]) - ${KEEP_S * 1000}, 'LIMIT', 0, 100)) do
  drop(old)
end
while redis.call('zcard', KEYS[2]) > tonumber(ARGV[4]) or tonumber(redis.call('get', KEYS[4])) > tonumber(ARGV[5]) do
  drop(redis.call('zrange', KEYS[2], 0, 0)[1])
  evicted = evicted + 1
end
return {false, evicted}`;

/** ARGV: the value that it must have. */
const RELEASE = `${DROP}
if redis.call('get', KEYS[1]) == ARGV[1] then drop(KEYS[1]) end`;

/** Answers to requests by their Idempotency-Key, for a day. Beyond the bounds those unused longest go first; they are counted. */
export class IdempotencyAnswers {
  constructor(
    private readonly store: Pick<Store, 'redis'>,
    private readonly metrics: Pick<Metrics, 'answersEvicted'>,
    private readonly bounds: AnswerBounds = BOUNDS,
  ) {}

  /** Stores the value unless there is one, which is returned. */
  claim(hash: string, value: string): Promise<string | null> {
    return this.put(hash, value, 'NX');
  }

  async replace(hash: string, value: string): Promise<void> {
    await this.put(hash, value, '');
  }

  /** Forgets the value if it is this one. */
  async release(hash: string, value: string): Promise<void> {
    await this.store.redis.eval(RELEASE, 4, ...keysOf(hash), value);
  }

  private async put(hash: string, value: string, mode: 'NX' | ''): Promise<string | null> {
    const { answers, bytes } = this.bounds;
    const result = await this.store.redis.eval(PUT, 4, ...keysOf(hash), value, Date.now(), mode, answers, bytes);
    const [found, evicted] = result as [string | null, number];
    this.metrics.answersEvicted.inc(evicted);
    return found;
  }
}

function keysOf(hash: string): [string, string, string, string] {
  return [KEYS.idempotency(hash), KEYS.idempotencyOrder, KEYS.idempotencySizes, KEYS.idempotencyBytes];
}
