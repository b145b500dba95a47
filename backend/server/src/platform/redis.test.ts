import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import { expect, it } from 'vitest';
import { conflict, ProblemError, unavailable } from './problem.js';
import { isPassing, isStoreAway } from './redis.js';

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
  expect([unavailable('away'), new ProblemError(502, 'no agent')].map(isPassing)).toEqual([true, true]);
  const wrongType = await errorOf((socket) => socket.on('data', () => socket.write('-WRONGTYPE of value\r\n')), {});
  expect(String(wrongType)).toContain('WRONGTYPE');
  const lasting = [wrongType, conflict('taken'), new TypeError('x is undefined'), 'text'];
  expect(lasting.map(isPassing)).toEqual([false, false, false, false]);
});
