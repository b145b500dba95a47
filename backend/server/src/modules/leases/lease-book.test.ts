import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Collections } from '../../platform/durable-collection/collections.js';
import type { Log } from '../../platform/log.js';
import type { Store, Transaction } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { boardResource, chainResource, type Resource, slotResource } from '../../ports/lease-book.js';
import { LeaseBookService } from './lease-book.service.js';

/** A store in memory. */
function memoryStore(): Store {
  const hashes = new Map<string, Map<string, string>>();
  const hash = (key: string) => {
    const found = hashes.get(key) ?? new Map<string, string>();
    hashes.set(key, found);
    return found;
  };
  return {
    redis: { hgetall: async (key: string) => Object.fromEntries(hash(key)) },
    transact: async (fill: (transaction: Transaction) => void) =>
      fill({
        hset: (key: string, texts: ReadonlyMap<string, string>) => {
          for (const [id, text] of texts) hash(key).set(id, text);
        },
        hdel: (key: string, ...ids: string[]) => ids.map((id) => hash(key).delete(id)),
      } as unknown as Transaction),
  } as unknown as Store;
}

let store: Store;

async function start() {
  const collections = new Collections(store, { error: () => undefined } as unknown as Log);
  const book = new LeaseBookService(collections);
  await book.onModuleInit();
  const acquire = (holder: string, resources: Resource[], until_ms: number | null = null) =>
    collections.commit((batch) =>
      book.acquireIn(batch, { claim: 'change', holder, purpose: 'test', by: 'tests', resources, until_ms }),
    );
  const release = (holder: string, resources?: Resource[]) =>
    collections.commit((batch) => book.releaseIn(batch, 'change', holder, resources));
  return { book, acquire, release, collections };
}

beforeEach(() => {
  store = memoryStore();
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => void vi.useRealTimers());

const CHAIN = chainResource('ch-1');
const BOARD = boardResource('board-1');
const SLOT = slotResource({ board: 'board-1', slot: 0 });
const OTHER_SLOT = slotResource({ board: 'board-1', slot: 1 });
const LONGER_NAME = boardResource('board-10');

it('grants all requested resources or none, and names the holder', async () => {
  const { book, acquire, release } = await start();
  await acquire('first', [CHAIN, SLOT]);
  await expect(acquire('second', [OTHER_SLOT, CHAIN])).rejects.toMatchObject({
    status: 409,
    message: 'The test first holds chain ch-1; wait for its end.',
  });
  expect(book.all().map(({ holder }) => holder)).toEqual(['first', 'first']);
  await acquire('first', [SLOT]);
  await release('first');
  await acquire('second', [OTHER_SLOT, CHAIN]);
});

it('covers a board with its slots, and a slot without its neighbours', async () => {
  const { acquire, release } = await start();
  await acquire('first', [SLOT]);
  await acquire('second', [OTHER_SLOT, LONGER_NAME]);
  await expect(acquire('third', [BOARD])).rejects.toMatchObject({ status: 409 });
  await release('first');
  await release('second', [OTHER_SLOT]);
  await acquire('third', [BOARD]);
  await expect(acquire('first', [SLOT])).rejects.toMatchObject({ status: 409 });
});

it('keeps reservations separate from changes', async () => {
  const { book, collections, acquire } = await start();
  await collections.commit((batch) =>
    book.acquireIn(batch, { claim: 'reserve', holder: 'operators', purpose: 'tests', by: 'ann', resources: [SLOT] }),
  );
  await acquire('first', [SLOT]);
  expect(book.find('reserve', SLOT)?.holder).toBe('operators');
});

it('expires', async () => {
  const { book, acquire } = await start();
  await acquire('first', [SLOT], Date.now() + 1000);
  expect(book.find('change', SLOT)).toMatchObject({ holder: 'first' });
  vi.setSystemTime(Date.now() + 1000);
  expect(book.all()).toEqual([]);
  await acquire('second', [SLOT]);
  expect(book.find('change', SLOT)).toMatchObject({ holder: 'second' });
});

it('survives a server restart, also as an earlier server stored it', async () => {
  const { acquire } = await start();
  await acquire('first', [SLOT]);
  await acquire('second', [OTHER_SLOT]);
  await store.transact((transaction) => {
    const [claim, resource] = ['change', SLOT];
    const value = {
      resource,
      claim,
      holder: 'first',
      purpose: 'test',
      by: 'tests',
      fence: 7,
      since_ms: 1,
      until_ms: null,
    };
    const text = JSON.stringify({ version: 1, revision: 1, value });
    transaction.hset(KEYS.leases, new Map([[`${claim}:${resource}`, text]]));
  });
  const { book } = await start();
  expect(book.find('change', SLOT)?.holder).toBe('first');
  expect(book.find('change', OTHER_SLOT)?.holder).toBe('second');
});
