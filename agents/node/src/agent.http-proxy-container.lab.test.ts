import type { ChildProcess } from 'node:child_process';
import { execFileSync } from 'node:child_process';
import { describe, expect, it, vi } from 'vitest';
import { CAPABILITIES } from './drivers/legacy/namespace-commands.js';
import { childOf, DockerSandbox, dockerMissing, NF_IMAGE } from './testing/docker-sandbox.js';
import { CLIENT, EXTERNAL } from './testing/http-lab.js';
import { ended, NODE_MAC } from './testing/lab.js';
import { PROXY, ProxyLab, proxyChain, proxyMissing } from './testing/proxy-lab.js';
import { until } from './testing/scratch.js';
import { nodeSpec } from './testing/specs.js';

const missing = dockerMissing() ?? proxyMissing();

/** Bits of the rights in /proc/PID/status (linux/capability.h). */
const BITS: Record<string, number> = {
  ...{ chown: 0, dac_override: 1, fowner: 3, kill: 5, setgid: 6, setuid: 7, setpcap: 8 },
  ...{ net_bind_service: 10, net_admin: 12, net_raw: 13 },
};

const chain = (generation: number, config = {}) => proxyChain(generation, config, 'container');
const without = (generation: number) => nodeSpec({ generation, nic: { iface: 'e0', mac: NODE_MAC } });

class ContainedProxyLab extends ProxyLab {
  constructor(readonly docker: DockerSandbox) {
    super(docker.enter);
  }

  static async start(): Promise<{ lab: ContainedProxyLab; agent: ChildProcess }> {
    const docker = new DockerSandbox();
    await docker.setUp();
    const lab = new ContainedProxyLab(docker);
    await lab.setUp();
    const agent = lab.startAgent();
    await lab.server.next('hello');
    await lab.desire(chain(1));
    return { lab, agent };
  }

  override startAgent(...more: string[]): ChildProcess {
    return super.startAgent('--docker', this.docker.socket, '--nf-image', NF_IMAGE, ...more);
  }

  /** Of the program, in the PID namespace of the sandbox. */
  read(pid: number, file: string): string {
    return this.run('cat', `/proc/${pid}/${file}`);
  }

  /** What runs in the node's containers, by name. */
  async containers(): Promise<string[]> {
    return (await this.docker.list()).map(({ name }) => name.replace(/orp[0-9a-f]+/, 'STEM')).sort();
  }

  async memory(): Promise<number> {
    return ((await this.instanceState(PROXY)).container as { memory_bytes: number }).memory_bytes;
  }
}

describe.skipIf(missing !== null)(
  `agent with an HTTP proxy in a container${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 180_000 },
  () => {
    it('answers from its cache, is healed whatever happens to it, and leaves nothing behind', async () => {
      const { lab, agent } = await ContainedProxyLab.start();
      expect(lab.server.all('hello').at(-1)!.capabilities.containers).toMatchObject({ programs: true });

      expect(await lab.get('/kept/a')).toEqual({ status: 200, bytes: 7, cache: 'MISS' });
      expect(await lab.get('/kept/a')).toEqual({ status: 200, bytes: 7, cache: 'HIT' });
      expect(lab.requests('/kept/a')).toEqual([{ path: '/kept/a', from: EXTERNAL, for: CLIENT }]);
      expect([await lab.seenAs('tcp', 8080), await lab.seenAs('udp', 7)]).toEqual([CLIENT, CLIENT]);
      await vi.waitFor(async () => expect(await lab.figures()).toMatchObject({ requests: 2, hits: 1 }), 10_000);
      expect(await lab.memory()).toBeGreaterThan(1e6);
      await lab.server.next('samples', ({ samples: { instances } }) =>
        instances.some(({ cpu_share }) => (cpu_share ?? 0) > 0),
      );

      // Its rights are those of a legacy NF; of the host it sees programs alone, and can change nothing.
      expect(await lab.containers()).toEqual(['orrery-n1-STEM', 'orrery-n1-STEM-net']);
      const first = await lab.pid();
      const bounds = CAPABILITIES.reduce((all, name) => all + 2 ** BITS[name]!, 0);
      const status = lab.read(first, 'status');
      expect(status).toContain(`CapBnd:\t${bounds.toString(16).padStart(16, '0')}\n`);
      expect(status).toContain('NoNewPrivs:\t1\n');
      // Docker's own are in memory.
      const ofDocker = /^\/(dev|proc|sys\/fs\/cgroup)(\/|$)/;
      const mounts = lab.read(first, 'mountinfo').trim().split('\n');
      const writable = mounts.flatMap((line) => {
        const [, , , , path, options] = line.split(' ');
        return options!.split(',').includes('rw') ? [path!] : [];
      });
      expect(writable.filter((path) => !ofDocker.test(path)).sort()).toEqual(['/instance', '/run', '/tmp', '/var']);

      // Killed: it starts anew, with an empty cache, between the same interfaces.
      const indices = lab.interfaceIndices();
      lab.docker.killInside(first);
      await until('its end is told', () => lab.ends().length === 1);
      expect(lab.ends()[0]).toContain('the container ended: exit code 137');
      await lab.answers();
      expect((await lab.get('/kept/a')).cache).toBe('MISS');
      expect(lab.interfaceIndices()).toEqual(indices);

      // It runs, but does not answer.
      const second = await lab.pid();
      const deaf = 'insert rule ip proxy to_proxy tcp dport 3128 drop'.split(' ');
      const [enter, ...words] = [...lab.docker.enter, 'nsenter', '-t', String(second), '-n', 'nft', ...deaf];
      execFileSync(enter!, words);
      await until('its silence is told', () => /did not report/.test(lab.ends()[1] ?? ''), 30_000);
      await lab.answers();

      // The next agent finds it while Docker is dead.
      const third = await lab.pid();
      expect((await lab.get('/kept/c')).cache).toBe('MISS');
      await lab.docker.killDocker();
      process.kill(childOf(agent.pid!)!, 'SIGKILL');
      await ended(agent);
      expect((await lab.get('/kept/c')).cache).toBe('HIT');
      const hellos = lab.server.all('hello').length;
      lab.startAgent();
      await until('it is back', () => lab.server.all('hello').length > hellos);
      await lab.observes(1);
      expect([await lab.pid(), (await lab.get('/kept/c')).cache]).toEqual([third, 'HIT']);
      await lab.docker.startDocker();

      // A new configuration.
      await lab.desire(chain(2, { forwarded_for: 'delete' }));
      expect((await lab.get('/kept/d')).cache).toBe('MISS');
      expect(lab.requests('/kept/d')).toMatchObject([{ from: EXTERNAL, for: null }]);

      await lab.desire(without(3));
      expect(await lab.containers()).toEqual([]);
      expect(lab.interfaces()).toEqual(['e0']);
      expect(lab.docker.cgroups()).toEqual([]);
    });

    it('is replaced when the holder of its namespace ends, and as a process follows it', async () => {
      const { lab } = await ContainedProxyLab.start();
      const holder = (await lab.docker.list()).find(({ name }) => name.endsWith('-net'))!;
      await lab.docker.kill(holder.id);
      await until('its end is told', () => lab.ends().length === 1);
      await lab.answers();
      expect((await lab.docker.list()).map(({ id }) => id)).not.toContain(holder.id);

      await lab.desire(proxyChain(2));
      await lab.answers();
      expect(await lab.containers()).toEqual([]);
    });
  },
);
