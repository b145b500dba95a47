import { Inject, Injectable } from '@nestjs/common';
import type { Plan } from '@orrery/contract';
import { STORE, type Store, type Transaction } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { PlanShelves, Shelf } from '../../ports/plan-shelves.js';

/** How long a plan that was made is kept, and one that no longer runs, unless newer ones take its place. */
const KEEP_S = 86_400;
const KEEP_OLD_S = 30 * 86_400;
/** Plans of each shelf, in number and bytes: Redis does not evict on its own. */
const KEEP_PLANS = 200;
const KEEP_BYTES = 128 * 1024 * 1024;

const SHELVES: Readonly<Record<Shelf, string>> = { previews: KEYS.planPreviews, own: KEYS.planOwn };
const ALL = Object.values(SHELVES);

/** The place of the newest of a shelf, whatever the clock says: `nowMs`, or above all others. */
const NEWEST = `
local function newest(shelf, nowMs)
  local top = redis.call('zrevrange', shelf, 0, 0, 'withscores')[2]
  return math.max(tonumber(nowMs), top and tonumber(top) + 1 or 0)
end`;
/**
 * Puts the plan ARGV[1] on the shelf KEYS[1] at the time ARGV[2], and deletes those beyond the newest ARGV[3], or ARGV[4]
 * bytes: not this one, nor those that are held by KEYS[2], which do not expire within ARGV[5] s. Plans without an expiry
 * leave the shelf: they are deployed.
 */
const SHELVE = `${NEWEST}
redis.call('zadd', KEYS[1], newest(KEYS[1], ARGV[2]), ARGV[1])
local held = {}
for _, key in ipairs(redis.call('hvals', KEYS[2])) do held[key] = true end
local plans, bytes = 0, 0
for _, key in ipairs(redis.call('zrevrange', KEYS[1], 0, -1)) do
  local ttl = redis.call('ttl', key)
  if ttl < 0 then
    redis.call('zrem', KEYS[1], key)
  elseif held[key] then
    if ttl < tonumber(ARGV[5]) then redis.call('expire', key, ARGV[5]) end
  else
    plans, bytes = plans + 1, bytes + redis.call('strlen', key)
    if key ~= ARGV[1] and (plans > tonumber(ARGV[3]) or bytes > tonumber(ARGV[4])) then
      redis.call('del', key)
      redis.call('zrem', KEYS[1], key)
    end
  end
end`;
/** Makes the plan ARGV[1] the newest of those of the shelves KEYS that have it. */
const TOUCH = `${NEWEST}
for _, shelf in ipairs(KEYS) do
  if redis.call('zscore', shelf, ARGV[1]) then redis.call('zadd', shelf, newest(shelf, ARGV[2]), ARGV[1]) end
end`;
/** Takes the plan ARGV[1] from the shelves KEYS, and keeps it for ARGV[2] s from now; 0: it is not there. */
const CLAIM = `
local ttl = redis.call('ttl', ARGV[1])
if ttl == -2 then return 0 end
for _, shelf in ipairs(KEYS) do redis.call('zrem', shelf, ARGV[1]) end
if ttl ~= -1 then redis.call('expire', ARGV[1], math.max(ttl, tonumber(ARGV[2]))) end
return 1`;

/** Plans in Redis. */
@Injectable()
export class StoredPlans implements PlanShelves {
  constructor(@Inject(STORE) private readonly store: Store) {}

  /** Null: it is not stored, or not any more. Of its shelf, it is the newest then. */
  async read(id: string): Promise<Plan | null> {
    const plan = await this.store.json<Plan>(KEYS.plan(id));
    if (plan) await this.store.redis.eval(TOUCH, ALL.length, ...ALL, KEYS.plan(id), Date.now());
    return plan;
  }

  /** `text`: of the plan. */
  async keep(id: string, text: string, shelf: Shelf): Promise<void> {
    await this.store.transact((transaction) => {
      transaction.set(KEYS.plan(id), text, 'EX', KEEP_S);
      this.shelveIn(transaction, id, shelf);
    });
  }

  async claim(ids: readonly string[]): Promise<string[]> {
    const claim = (id: string) => this.store.redis.eval(CLAIM, ALL.length, ...ALL, KEYS.plan(id), KEEP_S);
    const found = await Promise.all(ids.map(claim));
    return ids.filter((_, i) => found[i] === 0);
  }

  async putBack(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.store.transact((transaction) => {
      for (const id of ids) this.shelveIn(transaction, id, 'own');
    });
  }

  useIn(transaction: Transaction, id: string): void {
    transaction.persist(KEYS.plan(id));
  }

  retireIn(transaction: Transaction, id: string): void {
    transaction.expire(KEYS.plan(id), KEEP_OLD_S);
    this.shelveIn(transaction, id, 'own');
  }

  holdIn(transaction: Transaction, holder: string, id: string | null): void {
    if (id === null) transaction.hdel(KEYS.planHolds, holder);
    else transaction.hset(KEYS.planHolds, holder, KEYS.plan(id));
  }

  private shelveIn(transaction: Transaction, id: string, shelf: Shelf): void {
    const limits = [KEEP_PLANS, KEEP_BYTES, KEEP_S];
    transaction.eval(SHELVE, 2, SHELVES[shelf], KEYS.planHolds, KEYS.plan(id), Date.now(), ...limits);
  }
}
