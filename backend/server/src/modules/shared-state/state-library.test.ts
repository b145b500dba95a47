import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeLog } from '../../platform/log.js';
import { freeBytes, RedisServer } from '../../platform/redis-server.js';
import { until } from '../../testing/wait.js';
import { stateKeys } from './state-keys.js';
import { loadedStateLibrary, loadStateLibrary, STATE_LIBRARY_VERSION } from './state-library.js';

const LEASE_MS = 60_000;
const ADDRESSES = [Buffer.from([198, 18, 0, 1]), Buffer.from([198, 18, 0, 2])];
const TCP = Buffer.from([0]);
const keys = stateKeys('c1');

let folder: string;
let server: RedisServer;
let redis: Redis;

const connect = () => {
  // What was not answered is sent again: an allocation asked for twice is one.
  const client = new Redis({ path: server.socketPath, maxRetriesPerRequest: null, retryStrategy: () => 20 });
  client.on('error', () => undefined);
  return client;
};

beforeAll(async () => {
  folder = mkdtempSync('/tmp/orrery-s-');
  server = new RedisServer(folder, join(folder, 'data'), makeLog('silent'), {
    maxMemoryBytes: 256 * 1024 ** 2,
    freeBytes,
    diskCheckMs: 1000,
  });
  await server.start();
  redis = connect();
  await loadStateLibrary(redis);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => redis.flushall());

/** Inside endpoint 10.x.y.z:port of a number. */
function inside(n: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt32BE(0x0a00_0000 + (n >> 8));
  bytes.writeUInt16BE(1024 + (n & 0xff), 4);
  return bytes;
}

interface Ask {
  readonly lease_ms?: number;
  readonly low?: number;
  readonly high?: number;
  readonly addresses?: readonly Buffer[];
}

function allocate(of: Redis, endpoint: Buffer, { lease_ms, low, high, addresses }: Ask = {}): Promise<Buffer | null> {
  return of.callBuffer(
    'FCALL',
    ['state_nat_allocate', 1, keys.pool('p'), TCP, endpoint, lease_ms ?? LEASE_MS, low ?? 1024, high ?? 65535].concat(
      (addresses ?? ADDRESSES) as never,
    ) as never,
  ) as Promise<Buffer | null>;
}

const external = (of: Buffer) => Buffer.concat([TCP, of]);
const renew = (...of: Buffer[]) =>
  redis.callBuffer('FCALL', ['state_nat_renew', 1, keys.pool('p'), LEASE_MS, ...of] as never) as unknown as Promise<
    Buffer[]
  >;
const release = (...of: Buffer[]) => redis.call('FCALL', ['state_nat_release', 1, keys.pool('p'), ...of] as never);

describe('the functions of shared state', () => {
  it('have a version, and none where they were not loaded', async () => {
    expect(await loadedStateLibrary(redis)).toBe(STATE_LIBRARY_VERSION);
    await redis.function('FLUSH');
    expect(await loadedStateLibrary(redis)).toBeNull();
    await loadStateLibrary(redis);
  });

  it('refuse keys of no chain', async () => {
    await expect(redis.fcall('state_count', 1, 'c:syn', 10, 0, 'a', 1)).rejects.toThrow(/STATE no key of a chain/);
  });

  it('give the first claim its value, and everyone the same', async () => {
    const key = keys.value('stickiness', Buffer.from('client'));
    const claim = (value: string) => redis.fcall('state_claim', 1, key, value, LEASE_MS);
    expect(await Promise.all(['a', 'b', 'c'].map(claim))).toEqual(['a', 'a', 'a']);
  });

  it('lease to one holder at a time', async () => {
    const call = (name: string, ...args: (string | number)[]) => redis.fcall(name, 1, keys.lease('l'), ...args);
    expect(await call('state_take_lease', 'a', LEASE_MS)).toBe(1);
    expect(await call('state_take_lease', 'b', LEASE_MS)).toBe(0);
    expect(await call('state_release_lease', 'b')).toBe(0);
    expect(await call('state_release_lease', 'a')).toBe(1);
    expect(await call('state_take_lease', 'b', 1)).toBe(1);
    await until('the end of the lease', async () => (await call('state_take_lease', 'a', LEASE_MS)) === 1);
  });
});

describe('translations', () => {
  it('are the same for everyone who asks, and known by their external side', async () => {
    const first = (await allocate(redis, inside(1)))!;
    expect(await allocate(redis, inside(1))).toEqual(first);
    expect(await redis.getBuffer(Buffer.concat([Buffer.from(`${keys.pool('p')}:e:`), external(first)]))).toEqual(
      inside(1),
    );
    expect(await allocate(redis, inside(2))).not.toEqual(first);
  });

  it('go to the next address when one has no port left, then to nobody until one is given back', async () => {
    const few = { low: 2000, high: 2001 };
    const held: Buffer[] = [];
    for (let n = 0; n < 4; n++) held.push((await allocate(redis, inside(n), few))!);
    expect(held.map((of) => [of[3], of.readUInt16BE(4)])).toEqual([
      [1, 2000],
      [1, 2001],
      [2, 2000],
      [2, 2001],
    ]);
    expect(await allocate(redis, inside(9), few)).toBeNull();
    expect(await release(external(held[2]!))).toBe(1);
    expect(await allocate(redis, inside(9), few)).toEqual(held[2]);
  });

  it('end with their lease, and tell who renews one that has ended', async () => {
    const few = { low: 2000, high: 2000, addresses: [ADDRESSES[0]!] };
    const lost = (await allocate(redis, inside(1), { ...few, lease_ms: 0 }))!;
    await until('another owner', async () => (await allocate(redis, inside(2), few)) !== null);
    expect(await redis.getBuffer(Buffer.concat([Buffer.from(`${keys.pool('p')}:e:`), external(lost)]))).toEqual(
      inside(2),
    );
    const other = (await allocate(redis, inside(3), { ...few, low: 3000, high: 3000 }))!;
    await release(external(other));
    expect(await renew(external(lost), external(other))).toEqual([external(other)]);
  });

  it('give back ports least recently used first', async () => {
    const few = { low: 2000, high: 2002, addresses: [ADDRESSES[0]!] };
    const held: Buffer[] = [];
    for (let n = 0; n < 3; n++) held.push((await allocate(redis, inside(n), few))!);
    for (const n of [1, 2, 0]) await release(external(held[n]!));
    for (const [n, was] of [1, 2, 0].entries()) expect(await allocate(redis, inside(10 + n), few)).toEqual(held[was]);
  });

  it('are unique among eight clients with 10,000 each, though clients and Redis are killed', async () => {
    const each = 10_000;
    const answers = new Map<number, string>();
    const run = async (client: number) => {
      let of = connect();
      for (let begin = 0; begin < each; begin += 100) {
        if (begin % 3000 === 2900) {
          // As one that dies in the middle of what it asks for, and comes back.
          for (let i = 0; i < 100; i++) void allocate(of, inside(client * each + begin + i)).catch(() => undefined);
          of.disconnect();
          of = connect();
        }
        const numbers = Array.from({ length: 100 }, (_, i) => client * each + begin + i);
        const ask = async (n: number) => answers.set(n, (await allocate(of, inside(n)))!.toString('hex'));
        await Promise.all(numbers.map(ask));
      }
      of.disconnect();
    };
    const all = Promise.all(Array.from({ length: 8 }, (_, client) => run(client)));
    for (const done of [20_000, 50_000]) {
      await until(`${done} translations`, () => answers.size >= done);
      process.kill(server.pid!, 'SIGKILL');
    }
    await all;
    expect(answers.size).toBe(8 * each);
    expect(new Set(answers.values()).size).toBe(8 * each);
    // Also those of before a kill.
    for (const n of [0, 10_000, 19_999, 50_000])
      expect((await allocate(redis, inside(n)))!.toString('hex')).toBe(answers.get(n));
  });

  it('equal those of a model, whatever is asked', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant('allocate' as const), n: fc.nat(7) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), n: fc.nat(7) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('renew' as const), n: fc.nat(7) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 4 }), async (steps, ports) => {
        await redis.flushall();
        const held = new Map<number, string>();
        for (const { do: what, n } of steps) {
          const of = held.get(n);
          if (what === 'allocate') {
            const got = await allocate(redis, inside(n), { low: 2000, high: 1999 + ports, addresses: [ADDRESSES[0]!] });
            if (of) expect(got?.toString('hex')).toBe(of);
            else if (held.size === ports) expect(got).toBeNull();
            else {
              expect([...held.values()]).not.toContain(got!.toString('hex'));
              held.set(n, got!.toString('hex'));
            }
          } else if (of) {
            const it = external(Buffer.from(of, 'hex'));
            if (what === 'renew') expect(await renew(it)).toEqual([]);
            else {
              expect(await release(it)).toBe(1);
              held.delete(n);
              expect(await renew(it)).toEqual([it]);
            }
          }
        }
        expect(await redis.zcard(`${keys.pool('p')}:leases`)).toBe(held.size);
      }),
      { numRuns: 100 },
    );
  });
});

describe('triggers', () => {
  const declare = async (namespace: string, triggers: readonly object[]) => {
    await redis.hset(keys.triggers, namespace, JSON.stringify(triggers));
    await redis.incr(keys.version);
  };
  const count = (most: number, ...added: (string | number)[]) =>
    redis.fcall('state_count', 1, keys.counters('syn'), most, 0, ...added);
  const alarms = async () =>
    (await redis.xrange(keys.alarms, '-', '+')).map(([, fields]) => `${fields[1]} ${fields[5]} ${fields[7]}`);

  it('tell a threshold once for as long as it is held', async () => {
    await declare('syn', [{ id: 't', when: 'threshold', at: 10, hold_ms: LEASE_MS }]);
    await count(100, 'a', 9, 'b', 3);
    expect(await alarms()).toEqual([]);
    await count(100, 'a', 1);
    await count(100, 'a', 5, 'b', 7);
    expect(await alarms()).toEqual(['t a 10', 't b 10']);
  });

  it('are those of the newest version', async () => {
    await declare('syn', [{ id: 't', when: 'threshold', at: 10, hold_ms: LEASE_MS }]);
    await count(100, 'a', 1);
    await declare('syn', [{ id: 'u', when: 'threshold', at: 2, hold_ms: LEASE_MS }]);
    await count(100, 'a', 1);
    expect(await alarms()).toEqual(['u a 2']);
  });

  it('tell each subject beyond mean and deviation, as an independent reckoning does', async () => {
    const counters = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 50 });
    await fc.assert(
      fc.asyncProperty(
        counters,
        fc.double({ min: 0, max: 3, noNaN: true }),
        fc.integer({ min: 0, max: 500 }),
        async (values, factor, least) => {
          await redis.flushall();
          await count(1000, ...values.flatMap((value, i) => [`d${i}`, value]));
          await declare('syn', [{ id: 'd', when: 'deviation', factor, least, period_ms: LEASE_MS, hold_ms: LEASE_MS }]);
          // The largest is asked for, so that it is judged; what it adds does not count.
          const top = values.indexOf(Math.max(...values));
          await count(1000, `d${top}`, 0);
          const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
          const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
          const told = new Set((await alarms()).map((text) => text.split(' ')[1]));
          for (const [i, value] of values.entries()) {
            const beyond = value - (mean + factor * deviation);
            // At the border, two ways to reckon may differ.
            if (Math.abs(beyond) < 1e-6 * value) continue;
            expect(told.has(`d${i}`)).toBe(value >= least && beyond > 0);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('see the first of each subject, with what was seen', async () => {
    await declare('sqli', [{ id: 'f', when: 'first', hold_ms: LEASE_MS }]);
    const seen = Buffer.alloc(41, 7);
    const observe = (subject: string) => redis.fcall('state_observe', 1, keys.observations('sqli'), subject, seen);
    await observe('a');
    await observe('a');
    await observe('b');
    expect(await alarms()).toEqual(['f a 1', 'f b 1']);
    expect((await redis.xrangeBuffer(keys.alarms, '-', '+'))[0]![1]![9]).toEqual(seen);
  });

  it('keep as many subjects as allowed, none below zero, and count those without room', async () => {
    expect(await count(2, 'a', 1, 'b', 1, 'c', 1, 'a', -5)).toBe(1);
    expect(await redis.hgetall(keys.counters('syn'))).toEqual({ a: '0', b: '1' });
  });

  it('begin again after their window', async () => {
    await redis.fcall('state_count', 1, keys.counters('syn'), 10, 50, 'a', 3);
    await until('the end of the window', async () => (await redis.exists(keys.counters('syn'))) === 0);
    expect(await redis.fcall('state_count', 1, keys.counters('syn'), 10, 50, 'a', 2)).toBe(0);
    expect(await redis.hget(keys.counters('syn'), 'a')).toBe('2');
  });
});

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return String(port);
}

describe('in a cluster', () => {
  it('every function finds what it derives in the slot of its chain', async () => {
    const socket = join(folder, 'cluster.sock');
    const settings = [
      '--port',
      await freePort(),
      '--cluster-port',
      await freePort(),
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
    ];
    const child = spawn(
      'redis-server',
      [...settings, '--cluster-enabled', 'yes', '--save', '', '--unixsocket', socket],
      {
        stdio: 'ignore',
      },
    );
    const node = new Redis({ path: socket, maxRetriesPerRequest: null, retryStrategy: () => 20 });
    node.on('error', () => undefined);
    try {
      await node.cluster('ADDSLOTSRANGE', 0, 16383);
      await until('a working cluster', async () => /cluster_state:ok/.test(String(await node.cluster('INFO'))));
      await loadStateLibrary(node);
      const held = (await allocate(node, inside(1), { low: 2000, high: 2000, addresses: [ADDRESSES[0]!] }))!;
      const at = external(held);
      expect(await node.call('FCALL', ['state_nat_renew', 1, keys.pool('p'), LEASE_MS, at] as never)).toEqual([]);
      expect(await node.call('FCALL', ['state_nat_release', 1, keys.pool('p'), at] as never)).toBe(1);
      await node.hset(keys.triggers, 'syn', JSON.stringify([{ id: 't', when: 'threshold', at: 1, hold_ms: LEASE_MS }]));
      expect(await node.fcall('state_count', 1, keys.counters('syn'), 10, 0, 'a', 1)).toBe(0);
      expect(await node.fcall('state_observe', 1, keys.observations('sqli'), 'a', 'b')).toBe(1);
      expect(await node.fcall('state_claim', 1, keys.value('n', Buffer.from('k')), 'v', LEASE_MS)).toBe('v');
      expect(await node.fcall('state_take_lease', 1, keys.lease('l'), 'a', LEASE_MS)).toBe(1);
      expect(await node.xlen(keys.alarms)).toBe(1);
    } finally {
      node.disconnect();
      child.kill('SIGKILL');
    }
  });
});
