import { mkdtempSync, rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { configFrom } from '../../platform/config.js';
import { makeLog } from '../../platform/log.js';
import { Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { Shelf } from '../../ports/plan-shelves.js';
import { StoredPlans } from './plan-shelves.js';

const MOST = 200;
const MOST_BYTES = 128 * 1024 * 1024;

let folder: string;
let store: Store;
let plans: StoredPlans;
beforeAll(async () => {
  folder = mkdtempSync('/tmp/orrery-p-');
  store = await Store.open(configFrom({ ORRERY_RUN_DIR: folder, ORRERY_STATE_DIR: folder }), makeLog('silent'));
  plans = new StoredPlans(store);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => store.redis.flushall());
afterEach(() => vi.restoreAllMocks());

const isKept = async (id: string) => (await store.redis.exists(KEYS.plan(id))) === 1;
const ttlOf = (id: string) => store.redis.ttl(KEYS.plan(id));
const keep = (id: string, shelf: Shelf = 'own') => plans.keep(id, '{}', shelf);
const fill = (shelf: Shelf) => Promise.all(Array.from({ length: MOST }, (_, i) => keep(`${shelf}-${i}`, shelf)));
const accept = (id: string) => store.transact((transaction) => plans.useIn(transaction, id));
const retire = (id: string) => store.transact((transaction) => plans.retireIn(transaction, id));
const hold = (holder: string, id: string | null) =>
  store.transact((transaction) => plans.holdIn(transaction, holder, id));

describe('a plan', () => {
  it('that is stored is the newest, also after the clock was set back', async () => {
    await fill('own');
    vi.spyOn(Date, 'now').mockReturnValue(1000);
    await keep('new');
    await keep('newer');
    expect(await Promise.all(['new', 'newer', 'own-0', 'own-1', 'own-2'].map(isKept))).toEqual([
      ...[true, true],
      ...[false, false, true],
    ]);
    await plans.read('own-2');
    await keep('newest');
    expect(await Promise.all(['own-2', 'own-3', 'newest'].map(isKept))).toEqual([true, false, true]);
  });

  it('that is put on a shelf stays though it is too large, and then is not in the way of the next', async () => {
    await keep('large');
    await store.redis.setrange(KEYS.plan('large'), MOST_BYTES, '}');
    await retire('large');
    expect(await isKept('large')).toBe(true);
    await keep('small');
    expect(await Promise.all(['large', 'small'].map(isKept))).toEqual([false, true]);
  });

  it('that is claimed stays, whatever comes before it is accepted, and one that has gone is told', async () => {
    await keep('mine');
    expect(await plans.claim(['mine', 'none'])).toEqual(['none']);
    await fill('own');
    expect(await isKept('mine')).toBe(true);
    expect(await ttlOf('mine')).toBeGreaterThan(0);
    await accept('mine');
    await keep('other');
    expect(await ttlOf('mine')).toBe(-1);
    expect(await plans.claim(['mine'])).toEqual([]);
    expect(await ttlOf('mine')).toBe(-1);
  });

  it('that was claimed and not accepted is bounded as before; one that was stays', async () => {
    for (const id of ['refused', 'accepted']) await keep(id);
    await plans.claim(['refused', 'accepted']);
    await accept('accepted');
    await plans.putBack(['refused', 'accepted']);
    await fill('own');
    expect(await Promise.all(['refused', 'accepted'].map(isKept))).toEqual([false, true]);
  });

  it('that users look at is not evicted by those of the server, nor by those that ran before', async () => {
    await keep('shown', 'previews');
    for (const id of ['ran', 'runs']) {
      await keep(id);
      await plans.claim([id]);
      await accept(id);
    }
    await retire('ran');
    await fill('own');
    expect(await Promise.all(['shown', 'ran', 'runs'].map(isKept))).toEqual([true, false, true]);
    await fill('previews');
    expect(await Promise.all(['shown', 'own-1'].map(isKept))).toEqual([false, true]);
  });

  it('that somebody holds stays until all have let go', async () => {
    await keep('held');
    for (const holder of ['a', 'b']) await hold(holder, 'held');
    await hold('a', null);
    await store.redis.expire(KEYS.plan('held'), 60);
    await fill('own');
    expect(await isKept('held')).toBe(true);
    expect(await ttlOf('held')).toBeGreaterThan(60);
    await hold('b', 'other');
    await keep('last');
    expect(await isKept('held')).toBe(false);
  });
});
