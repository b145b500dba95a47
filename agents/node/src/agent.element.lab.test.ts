import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AcceleratedMode, InstanceSpec, NodeSpec, ObservedElement } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { cpuFeatures } from './platform/cpu-features.js';
import { childOf, DockerSandbox, dockerMissing, NF_IMAGE } from './testing/docker-sandbox.js';
import { ended, Lab, labMissing, NODE_MAC } from './testing/lab.js';
import { until } from './testing/scratch.js';
import { instance, nodeSpec, output } from './testing/specs.js';

const missing = dockerMissing() ?? (cpuFeatures().includes('aes') ? null : 'needs a CPU with AES instructions');

const MODE: AcceleratedMode = {
  kind: 'instructions',
  setting: 'acceleration',
  accelerated: 'instructions',
  plain: 'none',
  cpu_features: ['aes'],
};
const IDS = ['p.engine.0', 'p.container.0'] as const;

const tunnel = (id: string, driver: InstanceSpec['driver'], more: Partial<InstanceSpec> = {}) =>
  instance(id, {
    ...{ nf: 'crypto-tunnel', driver, acceleration: MODE },
    config: { key: 'a'.repeat(64), acceleration: 'none' },
    ...more,
  });

/** One tunnel in the engine, and one in a container with a part of a core. */
const spec = (generation: number, cpu_limit: number): NodeSpec =>
  nodeSpec({
    generation,
    nic: { iface: 'e0', mac: NODE_MAC },
    instances: [tunnel(IDS[0], 'engine'), tunnel(IDS[1], 'container', { cpu_limit })],
  });

class ElementLab extends Lab {
  private calls = 0;

  constructor(readonly docker: DockerSandbox) {
    super(docker.enter);
  }

  override startAgent(): ChildProcess {
    return super.startAgent('--docker', this.docker.socket, '--nf-image', NF_IMAGE);
  }

  async desire(of: NodeSpec): Promise<void> {
    this.server.send({ type: 'desired', spec: of });
    await this.tells((_, { state, generation }) => state === 'converged' && generation === of.generation);
  }

  /** Resolves when the latest report fits. */
  async tells(
    fits: (elements: (ObservedElement | undefined)[], of: { state: string; generation: number }) => boolean,
  ): Promise<void> {
    const latest = () => {
      const observed = this.server.all('observed').at(-1)?.observed;
      if (!observed) return false;
      const elements = IDS.map((id) => observed.instances.find((it) => it.id === id)?.element);
      return fits(elements, observed);
    };
    await until('it is told', latest, 40_000).catch((error) => {
      throw new Error(`${error.message}\n${this.agentLog.slice(-3000)}`);
    });
  }

  async call(method: 'accelerate' | 'release', instance_id: string): Promise<ObservedElement> {
    const id = `element-${this.calls++}`;
    this.server.send({ type: 'call', id, method, instance_id, params: {} });
    const { result, error } = await this.server.next('reply', (reply) => reply.id === id);
    expect(error).toBeNull();
    return result as ObservedElement;
  }

  async modes(): Promise<unknown[]> {
    return Promise.all(IDS.map(async (id) => (await this.instanceState(id)).acceleration));
  }

  /** Quotas of the containers of NFs, as parts of a core. */
  quotas(): number[] {
    const read = (path: string) => readFileSync(path, 'utf8').trim();
    return this.docker.cgroups().flatMap((folder) => {
      const [v1, v2] = [join(folder, 'cpu.cfs_quota_us'), join(folder, 'cpu.max')];
      const [quota, period] = existsSync(v1)
        ? [read(v1), read(join(folder, 'cpu.cfs_period_us'))]
        : existsSync(v2)
          ? read(v2).split(' ')
          : [];
      return Number(quota) > 0 ? [Number(quota) / Number(period)] : [];
    });
  }
}

describe.skipIf(missing !== null)(`element managers${missing ? ` (${missing})` : ''}`, { timeout: 90_000 }, () => {
  it('switch what runs, under new specifications too, and go back to the specification with the next agent', async () => {
    const docker = new DockerSandbox();
    await docker.setUp();
    const lab = new ElementLab(docker);
    await lab.setUp();
    const agent = lab.startAgent();
    await lab.server.next('hello');
    await lab.desire(spec(1, 0.3));
    await lab.tells((elements) => elements.every((it) => it?.accelerated === false));
    expect(await lab.modes()).toEqual(['none', 'none']);
    expect(lab.quotas()).toEqual([0.3]);
    const containers = await docker.list();

    for (const id of IDS) expect(await lab.call('accelerate', id)).toMatchObject({ accelerated: true });
    expect(await lab.modes()).toEqual(['instructions', 'instructions']);
    await lab.tells((elements) => elements.every((it) => it?.accelerated && it.switched_ms !== null));
    await lab.desire(spec(2, 0.5));
    await lab.tells(([, contained]) => contained?.cpu_limit === 0.5);
    expect(lab.quotas()).toEqual([0.5]);
    expect(await docker.list()).toEqual(containers);
    expect(await lab.modes()).toEqual(['instructions', 'instructions']);
    expect(await lab.call('release', IDS[0])).toMatchObject({ accelerated: false });
    expect(await lab.modes()).toEqual(['none', 'instructions']);
    await lab.call('accelerate', IDS[0]);

    process.kill(childOf(agent.pid!)!, 'SIGKILL');
    await ended(agent);
    lab.startAgent();
    await lab.tells((elements) => elements.every((it) => it?.accelerated === false && it.switched_ms === null));
    expect(await lab.modes()).toEqual(['none', 'none']);
    expect(await docker.list()).toEqual(containers);
  });
});

const noLab = labMissing() ?? (cpuFeatures().includes('aes') ? null : 'needs a CPU with AES instructions');
const TURNS = ['p.one.0', 'p.two.0'] as const;

/** Two tunnels of one engine, with a hop each. */
const TWO: NodeSpec = nodeSpec({
  generation: 1,
  nic: { iface: 'e0', mac: NODE_MAC },
  gateway_mac: '02:00:00:00:00:fe',
  instances: TURNS.map((id, n) =>
    tunnel(id, 'engine', {
      config: { mode: 'encrypt', key: 'a'.repeat(64), acceleration: 'none' },
      outputs: [output(`p.e${n}`, { kind: 'exit', exit_id: 'p.exit' })],
    }),
  ),
  hops: TURNS.map((instance_id, n) => ({ hop: n + 1, instance_id, direction: 'forward' })),
  exits: [{ exit_id: 'p.exit', chain_id: 'p', direction: 'forward' }],
});

class TurnsLab extends Lab {
  private calls = 0;

  async call(method: 'accelerate' | 'release', instance_id: string): Promise<void> {
    const id = `turn-${this.calls++}`;
    this.server.send({ type: 'call', id, method, instance_id, params: {} });
    const { result, error } = await this.server.next('reply', (reply) => reply.id === id);
    expect(error).toBeNull();
    expect(result).toMatchObject({ accelerated: method === 'accelerate' });
  }

  /** The session that each sends in, and how it works. */
  async sessions(): Promise<{ spi: number; sequence: number; acceleration: string }[]> {
    const states = await Promise.all(TURNS.map((id) => this.instanceState(id)));
    return states.map(({ outbound, acceleration }) => ({ ...(outbound as object), acceleration }) as never);
  }

  /** A packet through each of them, which leaves it. */
  async pass(): Promise<void> {
    for (const hop of [1, 2]) await this.exchange({ hop, count: 1, expect: 1, sport: 6000 + hop });
  }
}

describe.skipIf(noLab !== null)(`tunnels that take turns${noLab ? ` (${noLab})` : ''}`, { timeout: 60_000 }, () => {
  it('keep their sessions through all turns, begin as specified with the next engine, and take turns again', async () => {
    const lab = new TurnsLab();
    await lab.setUp();
    lab.startAgent();
    await lab.server.next('hello');
    lab.server.send({ type: 'desired', spec: TWO });
    const runs = () =>
      lab.server.next(
        'observed',
        ({ observed }) => observed.state === 'converged' && observed.generation === 1,
        25_000,
      );
    await runs();
    await lab.pass();
    const first = await lab.sessions();
    const takeTurns = async (since: typeof first) => {
      for (const turn of [1, 2, 3, 4]) {
        const [to, from] = turn % 2 ? TURNS : [TURNS[1], TURNS[0]];
        await lab.call('release', from);
        await lab.call('accelerate', to);
        await lab.pass();
        const now = await lab.sessions();
        expect(now.map(({ spi, sequence }) => ({ spi, sequence }))).toEqual(
          since.map(({ spi, sequence }) => ({ spi, sequence: sequence + turn })),
        );
        expect(now.map(({ acceleration }) => acceleration)).toEqual(
          TURNS.map((id) => (id === to ? 'instructions' : 'none')),
        );
      }
    };
    await takeTurns(first);

    const pid = lab.enginePid()!;
    process.kill(pid, 'SIGKILL');
    await until('another engine runs', () => (lab.enginePid() ?? pid) !== pid, 20_000);
    await until(
      'its tunnels are told to be in software',
      () => {
        const observed = lab.server.all('observed').at(-1)?.observed;
        const elements = observed?.instances.map(({ element }) => element);
        return observed?.state === 'converged' && elements?.every((it) => it?.switched_ms === null) === true;
      },
      20_000,
    );
    await lab.pass();
    const second = await lab.sessions();
    expect(second.map(({ acceleration }) => acceleration)).toEqual(['none', 'none']);
    await takeTurns(second);
  });
});
