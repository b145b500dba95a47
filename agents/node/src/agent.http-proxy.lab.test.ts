import { execFileSync } from 'node:child_process';
import { describe, expect, it, vi } from 'vitest';
import { CLIENT, EXTERNAL } from './testing/http-lab.js';
import { ended } from './testing/lab.js';
import { proxyChain as chain, ProxyLab, proxyMissing } from './testing/proxy-lab.js';
import { until } from './testing/scratch.js';

const missing = proxyMissing();

describe.skipIf(missing !== null)(
  `agent with an HTTP proxy${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 120_000 },
  () => {
    it('answers from its cache in the name of the origin, passes other traffic on, and is healed', async () => {
      const lab = new ProxyLab();
      await lab.setUp();
      const agent = lab.startAgent();
      await lab.server.next('hello');
      await lab.desire(chain(1));

      expect(await lab.get('/kept/a')).toEqual({ status: 200, bytes: 7, cache: 'MISS' });
      expect(await lab.get('/kept/a')).toEqual({ status: 200, bytes: 7, cache: 'HIT' });
      expect(lab.requests('/kept/a')).toEqual([{ path: '/kept/a', from: EXTERNAL, for: CLIENT }]);
      // By name, since the resolver says that it has this address.
      expect([
        (await lab.get('/kept/b', 'www.example')).cache,
        (await lab.get('/kept/b', 'www.example')).cache,
      ]).toEqual(['MISS', 'HIT']);
      // What may not be kept, or is too large.
      for (const path of ['/fresh', '/kept/large?600000']) {
        expect([(await lab.get(path)).status, (await lab.get(path)).cache]).toEqual([200, 'MISS']);
        expect(lab.requests(path.split('?')[0]!).length).toBe(2);
      }

      // Whatever is not HTTP passes unchanged, as do UDP datagrams.
      expect([await lab.seenAs('tcp', 8080), await lab.seenAs('udp', 7)]).toEqual([CLIENT, CLIENT]);

      // Reports come once a second.
      const wanted = { requests: 8, hits: 2, misses: 6, errors: 0, origin_requests: 6 };
      await vi.waitFor(async () => expect(await lab.figures()).toMatchObject(wanted), 10_000);
      const figures = await lab.figures();
      expect(figures.connections).toBeGreaterThanOrEqual(8);
      expect(figures.client_out_kb).toBeGreaterThan(1100);

      // A name that the resolver does not know may be anybody's.
      for (const cache of ['MISS', 'MISS']) expect((await lab.get('/kept/e', 'no.such')).cache).toBe(cache);

      // Killed: it starts anew, with an empty cache.
      const first = await lab.pid();
      process.kill(first, 'SIGKILL');
      await until('its end is told', () => lab.ends().length === 1);
      await lab.answers();
      expect((await lab.get('/kept/a')).cache).toBe('MISS');

      // It runs, but does not answer: it is killed, and what was set up is set up again.
      const second = await lab.pid();
      const deaf = 'insert rule ip proxy to_proxy tcp dport 3128 drop'.split(' ');
      execFileSync('nsenter', ['-t', String(second), '-n', 'nft', ...deaf]);
      await until('its silence is told', () => /did not report/.test(lab.ends()[1] ?? ''), 30_000);
      await lab.answers();

      // The next agent finds it.
      const third = await lab.pid();
      agent.kill('SIGKILL');
      await ended(agent);
      expect((await lab.get('/kept/c')).cache).toBe('MISS');
      const hellos = lab.server.all('hello').length;
      const next = lab.startAgent();
      await until('it is back', () => lab.server.all('hello').length > hellos);
      await lab.observes(1);
      expect([await lab.pid(), (await lab.get('/kept/c')).cache]).toEqual([third, 'HIT']);

      // A new configuration.
      await lab.desire(chain(2, { forwarded_for: 'delete' }));
      expect((await lab.get('/kept/d')).cache).toBe('MISS');
      expect(lab.requests('/kept/d')).toMatchObject([{ from: EXTERNAL, for: null }]);

      next.kill('SIGTERM');
      expect(await ended(next)).toBe(0);
      expect(lab.interfaces()).toEqual(['e0']);
    });
  },
);
