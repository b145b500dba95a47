import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { configFrom } from '../../platform/config.js';
import { makeLog } from '../../platform/log.js';
import { Metrics } from '../../platform/metrics.js';
import { Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EventTail } from './event-tail.js';
import { EventWriter } from './event-writer.js';

/** A TCP path to the unix socket of a Redis. `lose` drops what is sent on its present connections, and closes none. */
async function pathTo(socketPath: string): Promise<{ port: number; lose(): void }> {
  const ends = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(socketPath);
    near.pipe(far);
    far.pipe(near);
    for (const end of [near, far]) {
      ends.add(end);
      end.on('error', () => undefined);
    }
  });
  onTestFinished(() => {
    server.close();
    for (const end of ends) end.destroy();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const lose = () => {
    for (const end of ends) end.unpipe().resume();
  };
  return { port: (server.address() as AddressInfo).port, lose };
}

it('follows the log again after its path to Redis has dropped everything', async () => {
  const folder = mkdtempSync('/tmp/orrery-t-');
  const env = { ORRERY_RUN_DIR: folder, ORRERY_STATE_DIR: folder };
  const log = makeLog('silent');
  const local = await Store.open(configFrom(env), log);
  const path = await pathTo(local.server!.socketPath);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const remote = await Store.open(configFrom({ ...env, REDIS_URL: `redis://127.0.0.1:${path.port}` }), log);
  const writer = new EventWriter(local, log, new Metrics());
  const tail = new EventTail(remote, log, new Metrics());
  onTestFinished(async () => {
    vi.useRealTimers();
    tail.onApplicationShutdown();
    await writer.onApplicationShutdown();
    await remote.close();
    await local.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const wait = { timeout: 60_000, interval: 10 };
  const put = async (message: string) => {
    const before = tail.latest;
    writer.append({ type: 'twin.lost', subject: 'test', message, data: {} });
    return async () => expect(tail.latest).not.toBe(before);
  };
  await tail.onModuleInit();
  await vi.waitFor(await put('before'), wait);
  path.lose();
  const followed = await put('meanwhile');
  // Written before time goes on, or the command of the writer would time out and wait for a clock that does not tick.
  while ((await local.redis.xlen(KEYS.events)) < 2);
  await vi.advanceTimersByTimeAsync(10_000);
  await vi.waitFor(followed, wait);
  expect((await tail.after('0-0', 10)).map(({ message }) => message)).toEqual(['before', 'meanwhile']);
  const near = new EventTail(local, log, new Metrics());
  const all = await near.before('9999999999999-0', '0-0', 10);
  expect(all.map(({ message }) => message)).toEqual(['before', 'meanwhile']);
  expect(await near.before('9999999999999-0', '0-0', 1)).toEqual([all[1]]);
  expect(await near.before(all[1]!.id, '0-0', 10)).toEqual([all[0]]);
  expect(await near.before(all[1]!.id, all[0]!.id, 10)).toEqual([]);
});
