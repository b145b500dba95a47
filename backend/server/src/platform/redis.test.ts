import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LostReply } from '../ports/node-fleet.js';
import { until } from '../testing/wait.js';
import { configFrom } from './config.js';
import { makeLog } from './log.js';
import { isPassing } from './passing-error.js';
import { conflict, ProblemError, unavailable } from './problem.js';
import { isStoreAway, Store } from './redis.js';

/** The error of a command when the server treats its connections like this. */
async function errorOf(serve: (socket: Socket) => void, options: RedisOptions): Promise<unknown> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    serve(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // Nothing but the command is sent.
  const quiet = { enableReadyCheck: false, disableClientInfo: true, retryStrategy: () => 1 };
  const redis = new Redis({ port, host: '127.0.0.1', ...quiet, ...options });
  redis.on('error', () => undefined);
  const error: unknown = await redis.get('key').catch((reason: unknown) => reason);
  redis.disconnect();
  server.close();
  return error;
}

const AWAY: [string, (socket: Socket) => void, RedisOptions][] = [
  ['does not answer', () => undefined, { commandTimeout: 20 }],
  ['disconnects every time', (socket) => socket.destroy(), { maxRetriesPerRequest: 2 }],
  ['disconnects permanently', (socket) => socket.destroy(), { retryStrategy: () => null }],
  ['is loading its files', (socket) => socket.on('data', () => socket.write('-LOADING Redis is loading\r\n')), {}],
];

it.each(AWAY)('an error of a store that %s is transient', async (_what, serve, options) => {
  const error = await errorOf(serve, options);
  expect(error).toBeInstanceOf(Error);
  expect([isStoreAway(error), isPassing(error)], String(error)).toEqual([true, true]);
});

it('an error of another absent dependency is transient; a refusal or internal error is not', async () => {
  expect(
    [unavailable('away'), new ProblemError(502, 'no agent'), new LostReply('s1', 'no answer')].map(isPassing),
  ).toEqual([true, true, true]);
  const wrongType = await errorOf((socket) => socket.on('data', () => socket.write('-WRONGTYPE of value\r\n')), {});
  expect(String(wrongType)).toContain('WRONGTYPE');
  const lasting = [wrongType, conflict('taken'), new TypeError('x is undefined'), 'text'];
  expect(lasting.map(isPassing)).toEqual([false, false, false, false]);
});

describe('a transaction that Redis refuses', () => {
  let folder: string;
  let store: Store;
  beforeEach(async () => {
    folder = mkdtempSync('/tmp/orrery-t-');
    store = await Store.open(configFrom({ ORRERY_RUN_DIR: folder, ORRERY_STATE_DIR: folder }), makeLog('silent'));
  });
  afterEach(async () => {
    // A Redis that cannot save does not stop.
    await store.redis.config('SET', 'save', '');
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const refusal = () =>
    store.transact((transaction) => transaction.set('key', 'value')).catch((error: unknown) => error);

  it.each([
    ['its memory has reached its limit', async () => void (await store.redis.config('SET', 'maxmemory', '1'))],
    [
      'it cannot write to its disk',
      async () => {
        mkdirSync(`${folder}/redis/dump.rdb`);
        await store.redis.config('SET', 'save', '3600 1');
        await store.redis.bgsave();
        await until('it fails', async () => /bgsave_status:err/.test(await store.redis.info('persistence')));
      },
    ],
    ['its Redis is a replica', async () => void (await store.redis.replicaof('127.0.0.1', 9))],
  ])('says why, because that may pass: %s', async (why, provoke) => {
    await provoke();
    expect(await refusal()).toMatchObject({ status: 503, message: expect.stringContaining(why) });
    const single: unknown = await store.redis.set('key', 'value').catch((error: unknown) => error);
    expect([isStoreAway(single), store.whyAway(single)]).toEqual([true, expect.stringContaining(why)]);
  });

  it('is an internal error if a command is wrong', async () => {
    const error: unknown = await store
      .transact((transaction) => void transaction.call('nonsense'))
      .catch((reason: unknown) => reason);
    expect(error).not.toBeInstanceOf(ProblemError);
    expect(String(error)).toContain("unknown command 'nonsense'");
    expect([isStoreAway(error), isPassing(error)]).toEqual([false, false]);
  });
});
