import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { AgentCapabilities, NodeSpec, Observed } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { ABSENCE_MS } from './drivers/container/docker-host.js';
import { DEFAULT_LIMIT_MS } from './drivers/container/docker-http.js';
import { childOf, DockerSandbox, dockerMissing, NF_IMAGE } from './testing/docker-sandbox.js';
import { ended, Lab, NODE_MAC, type Packet } from './testing/lab.js';
import { until } from './testing/scratch.js';
import { instance, linearChain, nodeSpec } from './testing/specs.js';

const missing = dockerMissing();

/** Timeout of an agent when Docker is frozen: every request but its first takes this long. */
const FROZEN_MS = DEFAULT_LIMIT_MS;
const EXTERNAL = '198.18.0.1';
const NAT = 'lin.nat.0';

/** firewall on the engine (denies port 23) -> NAT in a container -> monitor on the engine; replies through the NAT. */
function chain(generation = 1, natConfig: Record<string, unknown> = {}): NodeSpec {
  const spec = linearChain(generation);
  const [firewall, nat] = spec.instances;
  firewall!.config = { default_action: 'allow', rules: [{ action: 'deny', proto: 'udp', dst_port: '23' }] };
  nat!.config = { external_addresses: [EXTERNAL], ...natConfig };
  nat!.driver = 'container';
  return { ...spec, nic: { iface: 'e0', mac: NODE_MAC } };
}

const withoutNat = (generation: number) =>
  nodeSpec({ generation, nic: { iface: 'e0', mac: NODE_MAC }, instances: [instance('lin.mon.0')] });

class ContainerLab extends Lab {
  /** Contains the character that separates the fields of a bind in Docker's short syntax. */
  override readonly run_dir = join(this.directory, 'r:w');

  constructor(readonly docker: DockerSandbox) {
    super(docker.enter);
  }

  static async start(spec = chain(), flags: string[] = []): Promise<{ lab: ContainerLab; agent: ChildProcess }> {
    const docker = new DockerSandbox();
    await docker.setUp();
    const lab = new ContainerLab(docker);
    await lab.setUp();
    const agent = lab.startAgent(...flags);
    await lab.server.next('hello');
    await lab.desire(spec);
    return { lab, agent };
  }

  override startAgent(...more: string[]): ChildProcess {
    return super.startAgent('--docker', this.docker.socket, '--nf-image', NF_IMAGE, ...more);
  }

  async desire(spec: NodeSpec): Promise<void> {
    this.server.send({ type: 'desired', spec });
    await this.observes(
      'converged',
      ({ state, generation }) => state === 'converged' && generation === spec.generation,
    );
  }

  /** Resolves with the first report that matches, from an index on (by default, the latest report), and its index. */
  async observes(what: string, fits: (observed: Observed) => boolean, from = this.reports - 1) {
    const probe = () => {
      const all = this.server.all('observed');
      const index = all.findIndex(({ observed }, i) => i >= from && fits(observed));
      return index < 0 ? null : { index, observed: all[index]!.observed };
    };
    return until(what, probe, 30_000).catch((error) => this.explain(error));
  }

  /** Resolves when a report from an index on shows a failure, and a later one the recovery. */
  async recovers(from: number, meanwhile: () => Promise<void> = async () => {}): Promise<void> {
    const { index } = await this.observes('the loss is seen', ({ state }) => state !== 'converged', from);
    await meanwhile();
    await this.observes('it runs again', ({ state }) => state === 'converged', index + 1);
  }

  get reports(): number {
    return this.server.all('observed').length;
  }

  /** All of these packets arrive at the far end of the chain. */
  async forward(count: number, sport = 5000): Promise<Packet[]> {
    const out = await this.exchange({ hop: 1, count, expect: count, sport, seconds: 3 });
    expect(out.map(({ src, dst, intact }) => [src, dst, intact])).toEqual(
      Array.from({ length: count }, () => [EXTERNAL, '10.0.2.2', true]),
    );
    return out;
  }

  /** What a reply to a translated packet becomes. */
  async reply({ sport }: Packet): Promise<Packet[]> {
    return this.exchange({ hop: 2, count: 1, expect: 1, src: '10.0.2.2', sport: 80, dst: EXTERNAL, dport: sport });
  }

  async crosses(): Promise<void> {
    await until(
      'packets cross',
      async () => {
        const seen = await this.exchange({ hop: 1, count: 1, expect: 1, seconds: 0.5 });
        return seen.length === 1;
      },
      30_000,
    ).catch((error) => this.explain(error));
  }

  /** Resolves when a hello after the given number of hellos says that containers are available. */
  async offersContainers(after: number): Promise<void> {
    const offers = () =>
      this.server
        .all('hello')
        .slice(after)
        .some(({ capabilities }) => capabilities.drivers.includes('container'));
    await until('containers can be had', offers).catch((error) => this.explain(error));
  }

  async call(method: 'export_state' | 'import_state', instance_id: string, params: Record<string, unknown> = {}) {
    const id = `${method}-${instance_id}`;
    this.server.send({ type: 'call', id, method, instance_id, params });
    const { result, error } = await this.server.next('reply', (reply) => reply.id === id);
    expect(error).toBeNull();
    return result as Record<string, unknown>;
  }

  async containers(): Promise<{ nf: string | null; holder: string | null }> {
    const all = await this.docker.list();
    const found = { nf: null as string | null, holder: null as string | null };
    for (const { id, name } of all) found[name.endsWith('-net') ? 'holder' : 'nf'] = id;
    return found;
  }

  signal(agent: ChildProcess, signal: NodeJS.Signals): void {
    process.kill(childOf(agent.pid!)!, signal);
  }

  /** Sends batches of packets until `work` is done; every packet must come out. */
  async withoutLoss(work: Promise<unknown>): Promise<number> {
    let over = false;
    const done = work.finally(() => {
      over = true;
    });
    let sent = 0;
    for (let port = 10_000; !over; port += 20) sent += (await this.forward(20, port)).length;
    await done;
    return sent + (await this.forward(20, 9000)).length;
  }

  private explain(error: Error): never {
    throw new Error(`${error.message}\n${this.agentLog.slice(-3000)}`);
  }
}

/** It was available once, and no longer is. */
const withdrawn = ({ drivers, containers }: AgentCapabilities) =>
  !drivers.includes('container') && containers?.detail.includes('ECONNREFUSED') === true;

describe.skipIf(missing !== null)(
  `agent with real containers${missing ? ` (${missing})` : ''}`,
  { timeout: 90_000 },
  () => {
    it('sends packets through a container and replies back, and removes everything afterwards', async () => {
      const { lab } = await ContainerLab.start();
      const [first] = await lab.forward(20);
      expect(await lab.reply(first!)).toMatchObject([{ src: '10.0.2.2', dst: '10.0.1.2', dport: 5000, intact: true }]);
      expect(await lab.exchange({ hop: 1, count: 5, expect: 1, dport: 23, seconds: 0.5 })).toEqual([]);

      const { capabilities } = await lab.server.next('hello', (hello) =>
        hello.capabilities.drivers.includes('container'),
      );
      expect(capabilities.nfs).toContain('nat');
      const state = await lab.instanceState(NAT);
      expect(state.container).toMatchObject({ restarts: 0, memory_bytes: expect.any(Number) });
      const { samples } = await lab.server.next('samples', ({ samples: { instances } }) => {
        const nat = instances.find(({ instance_id }) => instance_id === NAT);
        return nat !== undefined && nat.packets_in === 21 && (nat.cpu_share ?? 0) > 0;
      });
      expect(samples.instances.map(({ instance_id }) => instance_id)).toEqual(['lin.fw.0', NAT, 'lin.mon.0']);

      expect(lab.docker.cgroups().length).toBeGreaterThan(0);
      await lab.desire(withoutNat(2));
      expect(await lab.containers()).toEqual({ nf: null, holder: null });
      expect(lab.interfaces()).toEqual(['e0']);
      expect(lab.docker.cgroups()).toEqual([]);
    });

    it('leaves a compromised NF no privileges and nowhere to write', async () => {
      const { lab } = await ContainerLab.start();
      const { nf, holder } = await lab.containers();
      const none = '0'.repeat(16);
      const nobody = {
        uid: 65534,
        gid: 65534,
        CapInh: none,
        CapPrm: none,
        CapEff: none,
        CapAmb: none,
        NoNewPrivs: '1',
      };
      for (const container of [nf!, holder!])
        expect(await lab.docker.intrude(container)).toMatchObject({ ...nobody, writable: [] });
      const { files } = await lab.docker.intrude(nf!);
      expect(files.filter((path) => !path.startsWith('/etc/')).sort()).toEqual(
        ['/.dockerenv', '/ctl/nf', '/ctl/nf.beat', '/instance.json', '/orrery-container-nf'].sort(),
      );
    });

    it('reports that an NF used too much memory, and restarts it', async () => {
      const { lab } = await ContainerLab.start();
      const from = lab.reports;
      lab.docker.starve((await lab.containers()).nf!);
      const flows = Array.from({ length: 30_000 }, (_, i) => [1, 0x0a000000 + i, 1000, 0xc6120001, 1024 + i, 1]);
      lab.server.send({
        type: 'call',
        id: 'fill',
        method: 'import_state',
        instance_id: NAT,
        params: { state: { flows } },
      });
      const { message } = await lab.server.next('event', ({ event }) => event === 'instance.ended');
      expect(message).toContain('it took more than 512 MiB of memory');
      await lab.recovers(from);
      await lab.crosses();
    });

    it('counts each drop once, whatever restarts', async () => {
      const { lab, agent } = await ContainerLab.start();
      const totals = () =>
        lab.server
          .all('samples')
          .flatMap(({ samples: { instances } }) =>
            instances
              .filter(({ instance_id }) => instance_id === NAT)
              .map(({ drops }) => Object.values(drops).reduce((all, count) => all + count, 0)),
          );
      const dropFive = async (total: number) => {
        const stray = { src: '10.0.2.2', sport: 80, dst: EXTERNAL, dport: 9 };
        expect(await lab.exchange({ hop: 2, count: 5, expect: 1, seconds: 0.3, ...stray })).toEqual([]);
        await until('they are counted', () => totals().at(-1) === total);
      };
      await dropFive(5);
      const from = lab.reports;
      await lab.docker.kill((await lab.containers()).nf!);
      await lab.recovers(from);
      await dropFive(10);
      lab.signal(agent, 'SIGKILL');
      await ended(agent);
      const { reports } = lab;
      lab.startAgent();
      await lab.observes('it is back', ({ state }) => state === 'converged', reports);
      await dropFive(15);
      expect(totals()).toEqual(totals().sort((a, b) => a - b));
    });

    it('removes all images except the required one and those in use', async () => {
      const docker = new DockerSandbox();
      await docker.setUp();
      const lab = new ContainerLab(docker);
      await lab.setUp();
      const label = ['LABEL orrery.image=container-nf', 'ENTRYPOINT ["/orrery-container-nf"]'];
      for (const tag of ['old', 'busy', 'busy'])
        await docker.client.importImage('orrery/container-nf', tag, NF_IMAGE, tag === 'busy' ? label : label.slice(1));
      await docker.client.create('another', { Image: 'orrery/container-nf:busy' });
      lab.startAgent();
      await lab.offersContainers(0);
      const left = async () =>
        (await docker.client.images({ label: 'orrery.image=container-nf' })).map(({ tags }) => tags);
      await until('others are gone', async () => (await left()).length === 2);
      const isBusy = (tag: string) => tag.endsWith(':busy');
      const tags = (await left()).flat();
      expect(tags.filter(isBusy)).toEqual(['orrery/container-nf:busy']);
      expect(tags.filter((tag) => !isBusy(tag))).toEqual([expect.stringMatching(/:[0-9a-f]{12}$/)]);
      expect(await docker.client.hasImage('orrery/container-nf:old')).toBe(false);
    });

    it('keeps a connection across a new configuration, and refuses a bad one with the error of the NF', async () => {
      const { lab } = await ContainerLab.start();
      const before = await lab.containers();
      const [first] = await lab.forward(1);
      await lab.desire(chain(2, { external_addresses: ['198.18.0.2', EXTERNAL] }));
      const [again] = await lab.exchange({ hop: 1, count: 1, expect: 1 });
      expect(again).toMatchObject({ src: EXTERNAL, sport: first!.sport });
      expect(await lab.reply(first!)).toMatchObject([{ dst: '10.0.1.2', dport: 5000 }]);

      lab.server.send({ type: 'desired', spec: chain(3, { external_addresses: [] }) });
      const { observed: refused } = await lab.observes('a refusal', ({ state }) => state === 'failed');
      expect(refused.error).toContain('/config/external_addresses');
      expect(refused.instances).toContainEqual(expect.objectContaining({ id: NAT, state: 'failed' }));
      expect(await lab.reply(first!)).toMatchObject([{ dst: '10.0.1.2', dport: 5000 }]);
      expect(await lab.containers()).toEqual(before);
    });

    it('fails permanently if the NF refuses its first configuration', async () => {
      const docker = new DockerSandbox();
      await docker.setUp();
      const lab = new ContainerLab(docker);
      await lab.setUp();
      lab.startAgent();
      await lab.server.next('hello');
      lab.server.send({ type: 'desired', spec: chain(1, { external_addresses: [] }) });
      const isRefused = ({ state, error }: Observed) => state === 'failed' && error !== null;
      const { observed } = await lab.observes('a refusal', isRefused);
      expect(observed.error).toContain('/config/external_addresses must name at least one address');
      await lab.desire(chain(2));
      await lab.forward(3);
    });

    it.each([
      ['was killed', 'KILL', 'exit code 137'],
      ['stops responding', 'STOP', 'did not answer'],
    ] as const)('restarts an NF that %s, on the same interfaces', async (_, signal, why) => {
      const { lab } = await ContainerLab.start();
      await lab.forward(1);
      const before = await lab.containers();
      const indices = lab.interfaceIndices();
      const from = lab.reports;
      await lab.docker.kill(before.nf!, signal);
      await lab.recovers(from);
      await lab.forward(20);
      const after = await lab.containers();
      expect(after.holder).toBe(before.holder);
      expect(after.nf).not.toBe(before.nf);
      expect(lab.interfaceIndices()).toEqual(indices);
      const { message } = await lab.server.next('event', ({ event }) => event === 'instance.ended');
      expect(message).toContain(why);
    });

    it('loses nothing when the holder is killed, and recreates both when the NF ends later', async () => {
      const { lab } = await ContainerLab.start();
      const [first] = await lab.forward(1);
      const before = await lab.containers();
      const told = lab.server.next('event', ({ event }) => event === 'instance.holder-ended');
      await lab.withoutLoss(lab.docker.kill(before.holder!).then(() => told));
      expect(await lab.reply(first!)).toMatchObject([{ dst: '10.0.1.2', dport: 5000 }]);

      const from = lab.reports;
      await lab.docker.kill(before.nf!);
      await lab.recovers(from);
      await lab.crosses();
      const [fresh] = await lab.forward(20);
      expect(await lab.reply(fresh!)).toMatchObject([{ dst: '10.0.1.2', intact: true }]);
      const after = await lab.containers();
      expect([after.nf === before.nf, after.holder === before.holder]).toEqual([false, false]);
    });

    it('continues while Docker is dead, and restarts what died in the meantime when it is back', async () => {
      const { lab } = await ContainerLab.start();
      const before = await lab.containers();
      const sent = await lab.withoutLoss(
        (async () => {
          await lab.docker.killDocker();
          const { capabilities } = await lab.server.next(
            'hello',
            ({ capabilities }) => withdrawn(capabilities),
            20_000,
          );
          expect(capabilities.containers?.detail).toContain('Docker does not answer');
          const hellos = lab.server.all('hello').length;
          await lab.docker.startDocker();
          await lab.offersContainers(hellos);
        })(),
      );
      expect(sent).toBeGreaterThanOrEqual(60);
      expect(await lab.containers()).toEqual(before);

      const pid = await lab.docker.pidOf(before.nf!);
      await lab.docker.killDocker();
      const from = lab.reports;
      lab.docker.killInside(pid);
      await lab.recovers(from, () => lab.docker.startDocker());
      await lab.crosses();
    });

    it('removes an instance while Docker is dead, and its containers when Docker is back', async () => {
      const { lab } = await ContainerLab.start();
      const before = lab.docker.cgroups();
      expect(before.length).toBeGreaterThan(0);
      await lab.docker.killDocker();
      await lab.desire(withoutNat(2));
      expect(lab.interfaces()).toEqual(['e0']);
      expect(lab.docker.cgroups()).toEqual(before);
      await lab.docker.startDocker();
      await until('the containers are gone', async () => (await lab.docker.list()).length === 0);
      await lab.desire(chain(3));
      await lab.forward(3);
    });

    it('stays available during a short outage of Docker', async () => {
      const { lab } = await ContainerLab.start();
      await lab.offersContainers(0);
      const hellos = lab.server.all('hello').length;
      const before = await lab.containers();
      const killed_ms = Date.now();
      await lab.docker.killDocker();
      await lab.docker.startDocker();
      const from = lab.reports;
      await lab.docker.kill(before.nf!);
      await lab.recovers(from);
      // Docker was reachable before this. On a busy machine, one that stays away for longer may be given up.
      if (Date.now() - killed_ms >= ABSENCE_MS) return;
      expect(lab.server.all('hello').length).toBe(hellos);
      expect(lab.server.all('event').filter(({ event }) => event === 'docker.lost')).toEqual([]);
    });

    it('restarts the engine at once while Docker is frozen and containers wait to be started', async () => {
      const { lab } = await ContainerLab.start();
      await lab.offersContainers(0);
      lab.docker.freezeDocker();
      const extra = instance('lin.extra.0', { driver: 'container' });
      const wanted = chain(2);
      wanted.instances.push(extra);
      lab.server.send({ type: 'desired', spec: wanted });
      const isBegun = ({ instances }: Observed) =>
        instances.some(({ id, state }) => id === extra.id && state === 'starting');
      await lab.observes('a start is begun', isBegun);
      const killed_ms = Date.now();
      lab.docker.killInside(lab.enginePid()!);
      await lab.server.next('event', ({ event }) => event === 'engine.ended');
      await lab.crosses();
      expect(Date.now() - killed_ms).toBeLessThan(FROZEN_MS);
      await lab.forward(20);
      lab.docker.thawDocker();
      await lab.observes('all runs', ({ state, generation }) => state === 'converged' && generation === 2);
    });

    it('adopts at once while Docker is frozen, and packets keep flowing through the whole chain', async () => {
      const { lab, agent } = await ContainerLab.start();
      const before = await lab.containers();
      lab.docker.freezeDocker();
      let took_ms = Number.POSITIVE_INFINITY;
      await lab.withoutLoss(
        (async () => {
          lab.signal(agent, 'SIGKILL');
          await ended(agent);
          const from = lab.reports;
          const began_ms = Date.now();
          lab.startAgent();
          await lab.observes('converged', ({ state, generation }) => state === 'converged' && generation === 1, from);
          took_ms = Date.now() - began_ms;
        })(),
      );
      expect(took_ms).toBeLessThan(FROZEN_MS);
      lab.docker.thawDocker();
      await lab.offersContainers(lab.server.all('hello').length - 1);
      expect(await lab.containers()).toEqual(before);
    });

    it('takes over the flows of an instance of the engine', async () => {
      const onEngine = chain(1);
      onEngine.instances[1]!.driver = 'engine';
      const { lab } = await ContainerLab.start(onEngine);
      const [first] = await lab.forward(1, 7000);
      const moved = JSON.parse(JSON.stringify(chain(3)).replaceAll(NAT, 'lin.nat.container-0')) as NodeSpec;
      const both = { ...onEngine, generation: 2, instances: [...onEngine.instances, moved.instances[1]!] };
      await lab.desire(both);
      const state = await lab.call('export_state', NAT);
      await lab.call('import_state', 'lin.nat.container-0', { state });
      await lab.desire(moved);
      expect(await lab.reply(first!)).toMatchObject([{ src: '10.0.2.2', dst: '10.0.1.2', dport: 7000, intact: true }]);
      const [again] = await lab.forward(1, 7000);
      expect(again!.sport).toBe(first!.sport);
    });

    it('loses nothing while the agent is dead or when the next one adopts; strays are removed', async () => {
      const { lab, agent } = await ContainerLab.start();
      const [first] = await lab.forward(1, 7000);
      const before = await lab.containers();
      const image = (await lab.docker.client.inspect(before.nf!))!.image;
      const sent = await lab.withoutLoss(
        (async () => {
          lab.signal(agent, 'SIGKILL');
          await ended(agent);
          await lab.docker.client.create('stray', {
            Image: image,
            Cmd: ['hold'],
            Labels: { 'orrery.node': 'n1', 'orrery.instance': 'gone.nat.0' },
          });
          const from = lab.reports;
          const hellos = lab.server.all('hello').length;
          lab.startAgent();
          await until('it is back', () => lab.server.all('hello').length > hellos);
          await lab.observes('converged', ({ state }) => state === 'converged', from);
        })(),
      );
      expect(sent).toBeGreaterThanOrEqual(60);
      expect(await lab.containers()).toEqual(before);
      await until('the stray is removed', async () => (await lab.docker.client.inspect('stray')) === null);
      expect(await lab.reply(first!)).toMatchObject([{ dst: '10.0.1.2', dport: 7000 }]);
      const offers = lab.server.all('hello').map(({ capabilities }) => capabilities.drivers.includes('container'));
      expect(offers).not.toContain(false);
      const restarted = lab.server.all('event').filter(({ event }) => event === 'instance.ended');
      expect(restarted).toEqual([]);
    });

    it('adopts while Docker is dead', async () => {
      const { lab, agent } = await ContainerLab.start();
      const before = await lab.containers();
      await lab.docker.killDocker();
      await lab.withoutLoss(
        (async () => {
          lab.signal(agent, 'SIGKILL');
          await ended(agent);
          const from = lab.reports;
          const hellos = lab.server.all('hello').length;
          lab.startAgent();
          await until('it is back', () => lab.server.all('hello').length > hellos);
          await lab.observes('converged', ({ state }) => state === 'converged', from);
          await lab.docker.startDocker();
          await lab.offersContainers(hellos);
        })(),
      );
      expect(await lab.containers()).toEqual(before);
      expect((await lab.instanceState(NAT)).container).toMatchObject({ id: before.nf });
    });

    it('leaves nothing behind when it is told to stop', async () => {
      const { lab, agent } = await ContainerLab.start();
      lab.signal(agent, 'SIGTERM');
      expect(await ended(agent)).toBe(0);
      expect(await lab.containers()).toEqual({ nf: null, holder: null });
      expect(lab.interfaces()).toEqual(['e0']);
      expect(lab.docker.cgroups()).toEqual([]);
    });
  },
);
