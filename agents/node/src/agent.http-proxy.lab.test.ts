import { execFileSync } from 'node:child_process';
import type { NodeSpec, Observed } from '@orrery/contract';
import { describe, expect, it, vi } from 'vitest';
import { isInstalled } from './drivers/process/namespace-commands.js';
import { CLIENT, EXTERNAL, HttpLab, ORIGIN } from './testing/http-lab.js';
import { ended, labMissing, NODE_MAC } from './testing/lab.js';
import { until } from './testing/scratch.js';
import { instance, nodeSpec, output } from './testing/specs.js';

const lacking = ['squid', 'squidclient', 'nft', 'ethtool'].filter((program) => !isInstalled(program));
const missing = labMissing() ?? (lacking.length > 0 ? `needs ${lacking.join(', ')}` : null);

const NF = 'web.proxy.0';

const CONFIG = {
  external_addresses: [EXTERNAL],
  port: 80,
  memory_mb: 16,
  object_kb: 512,
  resolver: ORIGIN,
  forwarded_for: 'on',
};

/** Client -> proxy -> origin; answers of origins come back to the proxy, whose answers leave as replies. */
function chain(generation: number, config: Record<string, unknown> = {}): NodeSpec {
  return nodeSpec({
    generation,
    nic: { iface: 'e0', mac: NODE_MAC },
    instances: [
      instance(NF, {
        nf: 'http-proxy',
        driver: 'process',
        config: { ...CONFIG, ...config },
        outputs: [output('web.e1', { kind: 'exit', exit_id: 'web.exit' })],
        return_to: { kind: 'exit', exit_id: 'web.return' },
      }),
    ],
    hops: [
      { hop: 1, instance_id: NF, direction: 'forward' },
      { hop: 2, instance_id: NF, direction: 'return' },
    ],
    exits: [
      { exit_id: 'web.exit', chain_id: 'web', direction: 'forward' },
      { exit_id: 'web.return', chain_id: 'web', direction: 'return' },
    ],
  });
}

class ProxyLab extends HttpLab {
  async desire(spec: NodeSpec): Promise<Observed> {
    this.server.send({ type: 'desired', spec });
    return this.observes(spec.generation);
  }

  observes(generation: number): Promise<Observed> {
    const latest = () => {
      const observed = this.server.all('observed').at(-1)?.observed;
      return observed?.state === 'converged' && observed.generation === generation ? observed : null;
    };
    return until(`converged ${generation}`, latest, 30_000).catch((error) => this.explain(error));
  }

  /** Resolves when the client gets a page again. */
  answers(): Promise<unknown> {
    const one = () =>
      this.get('/again').then(
        ({ status }) => status === 200,
        () => false,
      );
    return until('pages come', one, 30_000).catch((error) => this.explain(error));
  }

  async figures(): Promise<Record<string, number>> {
    return (await this.instanceState(NF)).report as Record<string, number>;
  }

  async pid(): Promise<number> {
    return (await this.instanceState(NF)).pid as number;
  }

  /** Events of the proxy's end. */
  ends(): string[] {
    return this.server.all('event').flatMap((it) => (it.event === 'instance.ended' ? [JSON.stringify(it)] : []));
  }

  private explain(error: Error): never {
    throw new Error(`${error.message}\n${this.agentLog.slice(-3000)}`);
  }
}

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
