import { mkdtempSync, rmSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { configFrom } from '../config.js';
import { makeLog } from '../log.js';
import { ProblemError, unavailable } from '../problem.js';
import { Store, type Transaction } from '../redis.js';
import { Collections } from './collections.js';
import type { CollectionDefinition } from './definition.js';
import type { DurableCollection } from './durable-collection.js';

const Item = z.strictObject({ id: z.string(), n: z.int(), pinned: z.boolean().default(false) });
type Item = z.infer<typeof Item>;

const MOST = 4;
const item = (id: string, n: number, pinned = false): Item => ({ id, n, pinned });
const newestFirst = (a: Item, b: Item) => b.n - a.n;
const base = { noun: 'item', schema: Item, version: 1, idOf: ({ id }: Item) => id };
const NAMED: CollectionDefinition<Item> = { ...base, key: 'test:named', bound: { most: MOST, policy: 'refuse' } };
const LATEST: CollectionDefinition<Item> = {
  ...base,
  key: 'test:latest',
  order: newestFirst,
  bound: { most: MOST, policy: 'drop-last', keeps: ({ pinned }) => pinned },
};

const log = makeLog('silent');
let folder: string;
let store: Store;

beforeAll(async () => {
  folder = mkdtempSync('/tmp/orrery-c-');
  store = await Store.open(configFrom({ ORRERY_RUN_DIR: folder, ORRERY_STATE_DIR: folder }), log);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => store.redis.flushall());

type Fault = 'none' | 'before' | 'after';

/** A server on the store whose next transaction may fail before or after Redis commits it. */
class World {
  fault: Fault = 'none';
  readonly collections: Collections;
  readonly named: DurableCollection<Item>;
  readonly latest: DurableCollection<Item>;

  constructor() {
    const faulty = Object.create(store) as Store;
    faulty.transact = async (fill: (transaction: Transaction) => void) => {
      const fault = this.fault;
      this.fault = 'none';
      if (fault === 'before') throw unavailable('killed before');
      const results = await store.transact(fill);
      if (fault === 'after') throw unavailable('killed after');
      return results;
    };
    this.collections = new Collections(faulty, log);
    this.named = this.collections.open(NAMED);
    this.latest = this.collections.open(LATEST);
  }

  static async start(): Promise<World> {
    const world = new World();
    await world.collections.certain();
    return world;
  }

  held() {
    const of = (collection: DurableCollection<Item>) =>
      collection.all().map((value) => [value, collection.revisionOf(value.id)]);
    return { named: of(this.named), latest: of(this.latest) };
  }
}

/** Reference model of collections: plain maps. */
class Model {
  named = new Map<string, [Item, number]>();
  latest = new Map<string, [Item, number]>();

  /** `stored`: as it was before the batch; a batch writes each entry once. */
  constructor(private readonly stored: Pick<Model, 'named' | 'latest'> = { named: new Map(), latest: new Map() }) {}

  put(which: 'named' | 'latest', value: Item): void {
    if (which === 'named' && !this.named.has(value.id) && this.named.size >= MOST) throw new Error('full');
    this[which].set(value.id, [value, (this.stored[which].get(value.id)?.[1] ?? 0) + 1]);
  }

  trim(): void {
    const excess = this.latest.size - MOST;
    const oldest = [...this.latest.values()]
      .map(([value]) => value)
      .filter(({ pinned }) => !pinned)
      .sort((a, b) => a.n - b.n || (a.id < b.id ? 1 : -1));
    for (const { id } of oldest.slice(0, Math.max(excess, 0))) this.latest.delete(id);
  }

  copy(): Model {
    const model = new Model(this);
    model.named = new Map(this.named);
    model.latest = new Map(this.latest);
    return model;
  }

  held() {
    const named = [...this.named.values()].sort(([a], [b]) => (a.id < b.id ? -1 : 1));
    const latest = [...this.latest.values()].sort(([a], [b]) => newestFirst(a, b) || (a.id < b.id ? -1 : 1));
    return { named, latest };
  }
}

const anyId = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const which = fc.constantFrom('named' as const, 'latest' as const);
const change = fc.oneof(
  fc.record({
    do: fc.constant('put' as const),
    which,
    id: anyId,
    n: fc.integer({ min: 0, max: 9 }),
    pinned: fc.boolean(),
  }),
  fc.record({ do: fc.constant('remove' as const), which, id: anyId }),
);
const step = fc.record({
  changes: fc.array(change, { maxLength: 4 }),
  fault: fc.constantFrom<Fault>('none', 'none', 'before', 'after'),
  restart: fc.boolean(),
});

describe('collections compared with a model, with a crash at any transaction', () => {
  it('store batches atomically and report the outcome correctly', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        await store.redis.flushall();
        let world = await World.start();
        let model = new Model();
        for (const { changes, fault, restart } of steps) {
          const next = model.copy();
          let refused = false;
          try {
            for (const it of changes) {
              if (it.do === 'put') next.put(it.which, item(it.id, it.n, it.pinned));
              else next[it.which].delete(it.id);
            }
            next.trim();
          } catch {
            refused = true;
          }
          world.fault = fault;
          const failed = await world.collections
            .commit((batch) => {
              for (const it of changes) {
                if (it.do === 'put') batch.put(world[it.which], item(it.id, it.n, it.pinned));
                else batch.remove(world[it.which], it.id);
              }
            })
            .then(
              () => false,
              () => true,
            );
          const sent = world.fault === 'none' && fault !== 'none';
          expect(failed).toBe(refused || sent);
          world.fault = 'none';
          if (!refused && !(sent && fault === 'before')) model = next;
          if (restart) world = await World.start();
          else await world.collections.certain();
          expect(world.held()).toEqual(model.held());
        }
        expect((await World.start()).held()).toEqual(model.held());
      }),
      { numRuns: 200 },
    );
  });
});

describe('a collection', () => {
  let world: World;
  beforeEach(async () => {
    world = await World.start();
  });
  afterEach(() => {
    world.fault = 'none';
  });

  const put = (value: Item, ifMatch: string | null = null) =>
    world.collections.commit((batch) => batch.put(world.named, value, ifMatch));

  it('accepts a change only at the requested revision', async () => {
    await put(item('a', 1));
    const tag = String(world.named.revisionOf('a'));
    await put(item('a', 2), tag);
    const message = expect.stringMatching(/"a" has changed since it was read \(it is at revision \d+\)\.$/);
    await expect(put(item('a', 3), tag)).rejects.toMatchObject({ status: 412, message });
    await expect(put(item('b', 1), '1')).rejects.toMatchObject({ status: 404 });
    const remove = world.collections.commit((batch) => batch.remove(world.named, 'a', tag));
    await expect(remove).rejects.toMatchObject({ status: 412 });
    expect(world.named.all()).toEqual([item('a', 2)]);
  });

  it('refuses new entries beyond its bound, and allows replacing existing ones', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await put(item(id, 1));
    await expect(put(item('e', 1))).rejects.toMatchObject({ status: 409 });
    await put(item('a', 2));
    expect(world.named.size).toBe(MOST);
  });

  it('accepts only one of two writers of the same entry at the same revision', async () => {
    await put(item('a', 0));
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map((n) => put(item('a', n), '1')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refusals = outcomes.flatMap((it) => (it.status === 'rejected' ? (it.reason as ProblemError).status : []));
    expect(refusals).toEqual([412, 412, 412]);
  });

  it('stores however many entries by as many commands as one', async () => {
    const commands: number[] = [];
    const counting = Object.create(store) as Store;
    counting.transact = (fill) =>
      store.transact((transaction) => {
        fill(transaction);
        commands.push(transaction.length);
      });
    const collections = new Collections(counting, log);
    const many = collections.open({ ...NAMED, key: 'test:many', bound: { most: 1000, policy: 'refuse' } });
    const items = Array.from({ length: 1000 }, (_, i) => item(`n${i}`, i));
    await collections.commit((batch) => batch.put(many, items[0]!));
    await collections.commit((batch) => {
      for (const each of items) batch.put(many, each);
    });
    expect(commands[1]).toBe(commands[0]);
    expect(await store.redis.hlen('test:many')).toBe(1000);
  });

  it('stores writes of other modules in the same transaction, atomically', async () => {
    const also = (fault: Fault) => {
      world.fault = fault;
      return world.collections.commit((batch) => {
        batch.put(world.named, item(fault, 1));
        batch.also((transaction) => void transaction.rpush('test:told', fault));
      });
    };
    await also('none');
    await expect(also('before')).rejects.toMatchObject({ status: 503 });
    await expect(also('after')).rejects.toMatchObject({ status: 503 });
    await world.collections.certain();
    expect(world.named.all().map(({ id }) => id)).toEqual(['after', 'none']);
    expect(await store.redis.lrange('test:told', 0, -1)).toEqual(['none', 'after']);
  });

  it('notifies of each change once, even if the reply was lost', async () => {
    const told: string[] = [];
    world.named.onChange((change) => {
      told.push(...change.put.map(({ id, n }) => `${id}=${n}`), ...change.removed.map(({ id }) => `${id} gone`));
    });
    world.named.onChange(() => {
      throw new Error('a listener fails');
    });
    await put(item('a', 1));
    world.fault = 'after';
    await expect(put(item('a', 2))).rejects.toMatchObject({ status: 503 });
    await world.collections.certain();
    await world.collections.certain();
    await world.collections.commit((batch) => batch.remove(world.named, 'a'));
    expect(told).toEqual(['a=1', 'a=2', 'a gone']);
  });

  it('reads entries of earlier versions, and leaves unreadable ones unchanged', async () => {
    const key = 'test:grown';
    const texts = {
      old: JSON.stringify({ id: 'old', count: 1 }),
      now: JSON.stringify({ version: 2, revision: 7, value: { id: 'now', n: 2 } }),
      later: JSON.stringify({ version: 3, revision: 1, value: { id: 'later', n: 3 } }),
      broken: '{',
    };
    await store.redis.hset(key, texts);
    const migrate = (value: unknown) => {
      const { id, count } = value as { id: string; count: number };
      return { id, n: count };
    };
    const grown = world.collections.open({ ...NAMED, key, version: 2, migrate });
    await grown.load();
    expect(grown.all()).toEqual([item('now', 2), item('old', 1)]);
    expect(grown.revisionOf('now')).toBe(7);
    expect([...world.collections.unreadable()]).toEqual([[key, 2]]);
    await world.collections.commit((batch) => batch.put(grown, item('old', 5)));
    expect(await store.redis.hgetall(key)).toEqual({
      ...texts,
      old: JSON.stringify({ version: 2, revision: 2, value: item('old', 5) }),
    });
  });

  it.each(['newest-first', 'oldest-first'] as const)(
    'that is numbered is %s by when entries were added, whatever their times and the restarts between, and drops the last',
    async (numbered) => {
      const key = 'test:numbered';
      const old = (id: string, n: number) => JSON.stringify({ version: 1, revision: 1, value: item(id, n) });
      // An earlier server has stored two without a number.
      await store.redis.hset(key, { y: old('y', 80), z: old('z', 90) });
      const order = numbered === 'newest-first' ? newestFirst : (a: Item, b: Item) => a.n - b.n;
      const definition: CollectionDefinition<Item> = {
        ...{ ...base, key, order, numbered },
        bound: { most: MOST, policy: 'drop-last', keeps: ({ pinned }) => pinned },
      };
      let fault = false;
      const open = async () => {
        const faulty = Object.create(store) as Store;
        faulty.transact = async (fill: (transaction: Transaction) => void) => {
          await store.transact(fill);
          if (fault) throw unavailable('killed after');
          return [];
        };
        const collections = new Collections(faulty, log);
        const all = collections.open(definition);
        await all.load();
        const add = (...items: readonly Item[]) =>
          collections.commit((batch) => items.forEach((each) => void batch.put(all, each)));
        const ids = () => all.all().map(({ id }) => id);
        return { all, add, ids, certain: () => collections.certain() };
      };
      const inOrder = (...oldestFirst: readonly string[]) =>
        numbered === 'oldest-first' ? oldestFirst : oldestFirst.toReversed();
      let now = await open();
      expect(now.ids()).toEqual(inOrder('y', 'z'));
      // The clock is set back.
      await now.add(item('a', 10, true));
      fault = true;
      await expect(now.add(item('b', 5, true))).rejects.toMatchObject({ status: 503 });
      fault = false;
      await now.certain();
      expect(now.ids()).toEqual(inOrder('y', 'z', 'a', 'b'));
      // One that is written again stays where it is.
      await now.add(item('a', 99, true));
      now = await open();
      expect(now.ids()).toEqual(inOrder('y', 'z', 'a', 'b'));
      await now.add(item('d', 2), item('c', 1));
      // In one transaction they are in the order of their times.
      const left = ['a', 'b', 'c', 'd'];
      expect(now.ids()).toEqual(inOrder(...left));
      expect((await open()).ids()).toEqual(inOrder(...left));
      expect(['a', 'b'].map((id) => now.all.addedBy(id))).toEqual([1, 2]);
    },
  );

  it.each(['newest-first', 'oldest-first', 'in-order'] as const)(
    'that is numbered (%s) drops what was kept for long only after what has gone unkept for longer',
    async (numbered) => {
      const definition: CollectionDefinition<Item> = {
        ...{ ...base, key: 'test:kept', order: newestFirst, numbered },
        bound: { most: MOST, policy: 'drop-last', keeps: ({ pinned }) => pinned },
      };
      const open = async () => {
        const collections = new Collections(store, log);
        const all = collections.open(definition);
        await all.load();
        const put = (value: Item) => collections.commit((batch) => batch.put(all, value));
        return { put, ids: () => all.all().map(({ id }) => id) };
      };
      let { put, ids } = await open();
      await put(item('long', 1, true));
      for (const n of [2, 3, 4]) await put(item(`brief-${n}`, n));
      const order = ids();
      await put(item('long', 1));
      // It is where it was.
      expect(ids()).toEqual(order);
      const dropped: string[] = [];
      for (const n of [5, 6, 7, 8]) {
        ({ put, ids } = await open());
        const before = ids();
        // The clock is set back further and further.
        await put(item(`late-${n}`, -n));
        dropped.push(...before.filter((id) => !ids().includes(id)));
      }
      expect(dropped).toEqual(['brief-2', 'brief-3', 'brief-4', 'long']);
    },
  );

  it('that is full looks at each entry a few times only to drop one, however they came to be unkept', async () => {
    const [key, most] = ['test:full', 4000];
    const numberOf = (n: number) => 1 + ((n * 7919) % most);
    const text = (n: number) =>
      JSON.stringify({ version: 1, revision: 1, value: item(`i-${n}`, n), added: 1, freed: numberOf(n) });
    const numbers = Array.from({ length: most }, (_, n) => n);
    await store.redis.hset(key, new Map(numbers.map((n) => [`i-${n}`, text(n)])));
    let looks = 0;
    const collections = new Collections(store, log);
    const full = collections.open<Item>({
      ...{ ...base, key, order: newestFirst, numbered: 'newest-first' },
      idOf: ({ id }) => {
        looks++;
        return id;
      },
      bound: { most, policy: 'drop-last', keeps: ({ pinned }) => pinned },
    });
    await full.load();
    const before = full.all();
    looks = 0;
    await collections.commit((batch) => batch.put(full, item('new', most)));
    expect(looks).toBeLessThan(10 * most);
    const left = new Set(full.all());
    expect(before.filter((each) => !left.has(each)).map(({ n }) => numberOf(n))).toEqual([1]);
  });

  it('is unavailable before it has been read, and is read once the store is back', async () => {
    await put(item('a', 1));
    const away = Object.create(store) as Store;
    let isAway = true;
    const redis = { hgetall: (key: string) => (isAway ? Promise.reject(new Error('away')) : store.redis.hgetall(key)) };
    Object.defineProperty(away, 'redis', { value: redis });
    const collections = new Collections(away, log);
    const named = collections.open(NAMED);
    await expect(collections.certain()).rejects.toThrow('away');
    isAway = false;
    await collections.certain();
    expect(named.all()).toEqual([item('a', 1)]);
  });
});
