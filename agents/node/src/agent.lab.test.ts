import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { histogramCount, type NodeSamples, type NodeSpec } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { EngineClient } from './drivers/engine/engine-client.js';
import { ended, Lab, labMissing, NODE_MAC } from './testing/lab.js';
import { until } from './testing/scratch.js';
import { instance, linearChain, nodeSpec, output, splitChain } from './testing/specs.js';

const missing = labMissing();

const GATEWAY = '02:00:00:00:00:fe';
const EXTERNAL = '198.18.0.1';

/** firewall (denies port 23) -> NAT -> monitor -> exit; replies through the NAT to the return exit. */
function chain(generation = 1): NodeSpec {
  const spec = linearChain(generation);
  const [firewall, nat] = spec.instances;
  firewall!.config = { default_action: 'allow', rules: [{ action: 'deny', proto: 'udp', dst_port: '23' }] };
  nat!.config = { external_addresses: [EXTERNAL] };
  return { ...spec, nic: { iface: 'e0', mac: NODE_MAC }, gateway_mac: GATEWAY };
}

async function setUp(spec = chain(), ...flags: string[]) {
  const lab = new Lab();
  await lab.setUp();
  const agent = lab.startAgent(...flags);
  await lab.server.next('hello');
  lab.server.send({ type: 'desired', spec });
  await converged(lab, spec.generation);
  return { lab, agent };
}

const converged = (lab: Lab, generation: number, pidIsNot?: number) =>
  lab.server
    .next(
      'observed',
      ({ observed }) =>
        observed.state === 'converged' && observed.generation === generation && observed.engine_pid !== pidIsNot,
      25_000,
    )
    .catch((error) => {
      throw new Error(`${error.message}\n${lab.agentLog}`);
    });

const countIn = (samples: NodeSamples, id: string) =>
  samples.instances.find(({ instance_id }) => instance_id === id)?.packets_in ?? -1;

describe.skipIf(missing !== null)(
  `agent with the real engine${missing ? ` (${missing})` : ''}`,
  { timeout: 60_000 },
  () => {
    it.each([
      ['behind an NF', false],
      ['for a switch that cannot split', true],
    ])(
      'keeps flows in progress at their targets when ranges change, and sends new ones by the ranges, %s',
      async (_, inFront) => {
        const chain = (...[generation, ranges]: Parameters<typeof splitChain>) =>
          splitChain(generation, ranges, inFront);
        const halves = chain(1, [
          ['lin.mon.0', 0, 32_768],
          ['lin.mon.1', 32_768, 65_536],
        ]);
        const { lab, agent } = await setUp(halves);
        const old = { hop: 1, count: 64, expect: 64 };
        const fresh = { ...old, sport: 9000 };
        const others = { ...old, sport: 12_000 };
        const split = async (from: number) => {
          const sample = (it: NodeSamples) => it.splits[0]?.targets.map(({ packets }) => packets) ?? [];
          const { samples } = await lab.server.next(
            'samples',
            (told) => sample(told.samples).reduce((sum, packets) => sum + packets, 0) >= from,
          );
          return samples.splits[0]!;
        };
        await lab.exchange(old);
        const before = (await split(64)).targets.map(({ packets }) => packets);
        expect(Math.min(...before)).toBeGreaterThan(0);
        expect(before[0]! + before[1]!).toBe(64);

        const pid = lab.enginePid();
        const shifted = chain(2, [
          ['lin.mon.0', 0, 1],
          ['lin.mon.1', 1, 65_536],
        ]);
        lab.server.send({ type: 'desired', spec: shifted });
        await converged(lab, 2);
        expect(await lab.exchange(old)).toHaveLength(64);
        const kept = await split(128);
        expect(kept.targets.map(({ packets }) => packets)).toEqual(before.map((packets) => 2 * packets));
        expect(kept.targets.map(({ exceptions }) => exceptions)).toEqual([before[0], 0]);
        expect(await lab.exchange(fresh)).toHaveLength(64);
        const after = await split(192);
        expect(after.targets.map(({ packets }) => packets)).toEqual([2 * before[0]!, 2 * before[1]! + 64]);

        // Punted: new flows of nearly the whole space go to another node; those in progress stay, also over a new agent.
        const away = chain(3, [
          ['lin.mon.0', 0, 1],
          ['lin.mon.1', 1, 2],
          [9, 2, 65_536],
        ]);
        lab.server.send({ type: 'desired', spec: away });
        await converged(lab, 3);
        agent.kill('SIGKILL');
        await ended(agent);
        const hellos = lab.server.all('hello').length;
        lab.startAgent();
        await until('it is back', () => lab.server.all('hello').length > hellos);
        lab.server.send({ type: 'desired', spec: { ...away, generation: 4 } });
        await converged(lab, 4);
        const there = '02:0e:00:09:00:00';
        expect((await lab.exchange(old)).filter(({ dst_mac }) => dst_mac === there)).toEqual([]);
        expect((await lab.exchange(fresh)).filter(({ dst_mac }) => dst_mac === there)).toEqual([]);
        const punted = await lab.exchange(others);
        expect(punted).toHaveLength(64);
        expect(punted.filter(({ dst_mac }) => dst_mac === there).length).toBeGreaterThan(60);
        expect(lab.enginePid()).toBe(pid);
      },
    );

    it('carries packets through firewall, NAT and monitor, and replies back', async () => {
      const { lab } = await setUp();
      const out = await lab.exchange({ hop: 1, count: 20, expect: 20 });
      expect(out.length).toBe(20);
      for (const packet of out)
        expect(packet).toMatchObject({
          dst_mac: GATEWAY,
          src_mac: NODE_MAC,
          src: EXTERNAL,
          dst: '10.0.2.2',
          intact: true,
        });

      const { capabilities } = await lab.server.next('hello', (hello) => hello.capabilities.dpdk !== null);
      expect(capabilities).toMatchObject({ engine_memory: 'no-huge', iface: 'e0', iface_mac: NODE_MAC });

      const { sport } = out[0]!;
      const [reply] = await lab.exchange({
        hop: 2,
        count: 1,
        expect: 1,
        src: '10.0.2.2',
        sport: 80,
        dst: EXTERNAL,
        dport: sport,
      });
      expect(reply).toMatchObject({ src: '10.0.2.2', dst: '10.0.1.2', dport: 5000, intact: true, dst_mac: GATEWAY });

      expect(await lab.exchange({ hop: 1, count: 5, expect: 1, dport: 23, seconds: 0.5 })).toEqual([]);

      const { samples } = await lab.server.next('samples', ({ samples }) => countIn(samples, 'lin.fw.0') === 25);
      const of = (id: string) => samples.instances.find(({ instance_id }) => instance_id === id);
      expect(of('lin.fw.0')).toMatchObject({ packets_in: 25, packets_out: 20 });
      expect(Object.values(of('lin.fw.0')!.drops).reduce((sum, n) => sum + n, 0)).toBe(5);
      expect(of('lin.nat.0')).toMatchObject({ packets_in: 21, packets_out: 21 });
      expect(of('lin.mon.0')).toMatchObject({ packets_in: 20, packets_out: 20 });
      expect(samples.exits.map(({ exit_id, packets }) => [exit_id, packets])).toEqual([
        ['lin.exit', 20],
        ['lin.return', 1],
      ]);
      // Each histogram covers one interval, so together they contain each packet once.
      const all = lab.server.all('samples').map(({ samples }) => samples);
      const measured = (id: string) =>
        all.flatMap(({ exits }) =>
          exits.filter((exit) => exit.exit_id === id).map(({ latency_ns }) => histogramCount(latency_ns)),
        );
      expect(measured('lin.exit').reduce((sum, n) => sum + n, 0)).toBe(20);

      lab.server.send({ type: 'call', id: 'c1', method: 'get_instance_state', instance_id: 'lin.nat.0', params: {} });
      expect((await lab.server.next('reply', ({ id }) => id === 'c1')).error).toBeNull();
    });

    it('keeps counters and NAT mappings when an instance is added, and names the rule that is refused', async () => {
      const { lab } = await setUp();
      const [before] = await lab.exchange({ hop: 1, count: 1, expect: 1 });
      const wider = chain(2);
      wider.instances.push(
        instance('lin.mon.1', { outputs: [output('lin.e9', { kind: 'exit', exit_id: 'lin.exit' })] }),
      );
      wider.hops.push({ hop: 3, instance_id: 'lin.mon.1', direction: 'forward' });
      lab.server.send({ type: 'desired', spec: wider });
      await converged(lab, 2);
      const [after] = await lab.exchange({ hop: 1, count: 1, expect: 1 });
      expect(after?.sport).toBe(before?.sport);
      await lab.server.next('samples', ({ samples }) => countIn(samples, 'lin.fw.0') === 2);

      const bad = chain(3);
      bad.instances[0]!.config = { rules: [{ action: 'deny', src: 'nowhere' }] };
      lab.server.send({ type: 'desired', spec: bad });
      const { observed } = await lab.server.next('observed', (message) => message.observed.state === 'failed');
      expect(observed).toMatchObject({ generation: 2, engine: 'running' });
      expect(observed.error).toContain('/config/rules/0/src');
      expect(observed.instances[0]).toMatchObject({ id: 'lin.fw.0', state: 'failed' });
      expect((await lab.exchange({ hop: 1, count: 1, expect: 1 })).length).toBe(1);
    });

    it('spreads instances over several workers', async () => {
      const spec = chain();
      spec.instances.forEach((one, i) => {
        one.core = i;
      });
      const { lab } = await setUp(spec, '--workers', '2');
      const out = await lab.exchange({ hop: 1, count: 20, expect: 20 });
      expect(out.filter(({ src, intact }) => src === EXTERNAL && intact).length).toBe(20);
    });

    it('restarts a killed engine with its whole graph', async () => {
      const { lab } = await setUp();
      const pid = lab.enginePid()!;
      process.kill(pid, 'SIGKILL');
      await converged(lab, 1, pid);
      const events = lab.server.all('event').map(({ event }) => event);
      expect(events).toEqual(['engine.started', 'node.converged', 'engine.ended', 'engine.started', 'node.converged']);
      expect((await lab.exchange({ hop: 1, count: 3, expect: 3 })).length).toBe(3);
    });

    it('tells of an engine that is stopped, which then continues with its state', async () => {
      const { lab } = await setUp();
      const [before] = await lab.exchange({ hop: 1, count: 1, expect: 1 });
      const pid = lab.enginePid()!;
      process.kill(pid, 'SIGSTOP');
      await lab.server.next('observed', ({ observed }) => observed.engine === 'unresponsive');
      process.kill(pid, 'SIGCONT');
      await lab.server.next('event', ({ event }) => event === 'engine.answers');
      await converged(lab, 1);
      const [after] = await lab.exchange({ hop: 1, count: 1, expect: 1 });
      expect([lab.enginePid(), after?.sport]).toEqual([pid, before?.sport]);
    });

    it('repairs what somebody else changes: the graph of the engine, the NIC; and tells a cut cable', async () => {
      const { lab } = await setUp();
      const client = await EngineClient.connect(join(lab.run_dir, 'engine.sock'), () => undefined);
      await client.apply({ generation: 1, ports: [], modules: [], links: [], tasks: [] });
      client.close();
      const repaired = (part: string) =>
        lab.server.next('event', ({ event, data }) => event === 'drift.repaired' && data.part === part);
      await repaired('engine');
      expect((await lab.exchange({ hop: 1, count: 3, expect: 3 })).length).toBe(3);

      lab.setNic('down', 'mtu', '600');
      const { data } = await repaired('e0');
      expect(data.difference).toBe('it is administratively down, its MTU is 600 instead of 1500');
      await until('packets cross', async () => (await lab.exchange({ hop: 1, count: 1, expect: 1, seconds: 0.5 }))[0]);

      lab.setCable('down');
      await lab.server.next('observed', ({ observed }) => observed.troubles.includes('e0: its link is down'));
      lab.setCable('up');
      await until('the link is back', () => lab.server.all('observed').at(-1)!.observed.troubles.length === 0);
    });

    it('recovers when its interface is removed and comes back', async () => {
      const { lab } = await setUp();
      await lab.exchange({ hop: 1, count: 1, expect: 1 });
      lab.unplug();
      await lab.server.next('event', ({ event }) => event === 'port.down');
      lab.plug();
      await lab.server.next('event', ({ event }) => event === 'port.up');
      const packet = await until('packets cross', async () => {
        const [seen] = await lab.exchange({ hop: 1, count: 1, expect: 1, seconds: 0.5 });
        return seen;
      });
      expect(packet).toMatchObject({ src: EXTERNAL, intact: true });
    });

    it('keeps forwarding while the agent is dead, and the next agent adopts it with its counters', async () => {
      const { lab, agent } = await setUp();
      await lab.exchange({ hop: 1, count: 4, expect: 4 });
      const before = await lab.server.next('samples', ({ samples }) => countIn(samples, 'lin.fw.0') === 4);
      const pid = lab.enginePid()!;
      const { credential } = lab.server.all('hello').at(-1)!;
      agent.kill('SIGKILL');
      await ended(agent);
      expect((await lab.exchange({ hop: 1, count: 3, expect: 3 })).length).toBe(3);
      lab.startAgent();
      const { samples } = await lab.server.next('samples', (message) => countIn(message.samples, 'lin.fw.0') === 7);
      expect(lab.enginePid()).toBe(pid);
      expect(samples.epoch).toBe(before.samples.epoch);
      expect(samples.seq).toBeGreaterThan(before.samples.seq);
      await lab.server.next('event', ({ event }) => event === 'engine.adopted');
      expect(lab.server.all('hello').at(-1)).toMatchObject({ credential, observed: { engine_pid: pid } });
      expect((await lab.exchange({ hop: 1, count: 1, expect: 1 })).length).toBe(1);
    });

    it('adopts an engine under load without a lost packet, and brings a killed one back under load', async () => {
      const { lab, agent } = await setUp();
      const count = 3000;
      const load = () => lab.exchange({ hop: 1, count, expect: count, rate: 600, seconds: 3 });
      const numbers = (packets: Awaited<ReturnType<typeof load>>) => packets.map(({ number }) => number);

      const adopted = load();
      await lab.server.next('samples', ({ samples }) => countIn(samples, 'lin.fw.0') > 100);
      const pid = lab.enginePid()!;
      agent.kill('SIGKILL');
      await ended(agent);
      lab.startAgent();
      await lab.server.next('event', ({ event }) => event === 'engine.adopted');
      expect(lab.enginePid()).toBe(pid);
      expect(numbers(await adopted)).toEqual(Array.from({ length: count }, (_, n) => n));

      const restarted = load();
      await lab.server.next('samples', ({ samples }) => countIn(samples, 'lin.fw.0') > count + 100);
      process.kill(pid, 'SIGKILL');
      await converged(lab, 1, pid);
      const arrived = numbers(await restarted);
      // What came while there was no engine is lost, at one stretch, and nothing else. A few may arrive, and others not,
      // while the new one opens its port: within a tenth of a second.
      const gaps = arrived.flatMap((number, i) => (i > 0 && number !== arrived[i - 1]! + 1 ? [i] : []));
      expect([arrived[0], arrived.at(-1)]).toEqual([0, count - 1]);
      expect(Math.max(...gaps) - Math.min(...gaps)).toBeLessThan(60);
    });

    it('applies the last desired state when it starts without a server', async () => {
      const { lab, agent } = await setUp();
      agent.kill('SIGTERM');
      await ended(agent);
      expect(lab.enginePid()).toBeNull();
      await lab.server.close();
      lab.startAgent();
      await until('the engine runs', () => lab.enginePid());
      const packet = await until('packets cross', async () => {
        const seen = await lab.exchange({ hop: 1, count: 1, expect: 1, seconds: 0.5 });
        return seen[0];
      });
      expect(packet).toMatchObject({ src: EXTERNAL, intact: true });
    });

    it('leaves nothing behind when it is told to stop', async () => {
      const { lab, agent } = await setUp();
      const pid = lab.enginePid()!;
      agent.kill('SIGTERM');
      expect(await ended(agent)).toBe(0);
      expect(() => process.kill(pid, 0)).toThrow();
      expect(existsSync(join(lab.run_dir, 'engine.sock'))).toBe(false);
      expect(lab.interfaces()).toEqual(['e0']);
    });

    it('sends packets through an ordinary process, which also survives the agent', async () => {
      const forwarder = instance('leg.fwd.0', {
        nf: 'legacy-forwarder',
        driver: 'process',
        outputs: [output('leg.e1', { kind: 'instance', instance_id: 'leg.mon.0' })],
      });
      const monitor = instance('leg.mon.0', { outputs: [output('leg.e2', { kind: 'exit', exit_id: 'leg.exit' })] });
      const spec = nodeSpec({
        generation: 1,
        nic: { iface: 'e0', mac: NODE_MAC },
        gateway_mac: GATEWAY,
        instances: [forwarder, monitor],
        hops: [{ hop: 1, instance_id: 'leg.fwd.0', direction: 'forward' }],
        exits: [{ exit_id: 'leg.exit', chain_id: 'leg', direction: 'forward' }],
      });
      const { lab, agent } = await setUp(spec);
      await lab.server.next('hello');
      const hellos = lab.server.all('hello').length;
      const cross = () =>
        until('a packet crosses the process', async () => {
          const seen = await lab.exchange({ hop: 1, count: 1, expect: 1, seconds: 0.5 });
          return seen[0];
        });
      expect(await cross()).toMatchObject({ src: '10.0.1.2', dst: '10.0.2.2', dst_mac: GATEWAY, intact: true });
      const { samples } = await lab.server.next('samples', (message) => {
        const exit = message.samples.exits[0];
        return exit !== undefined && exit.packets > 0 && countIn(message.samples, 'leg.fwd.0') >= exit.packets;
      });
      expect(samples.instances.map(({ instance_id }) => instance_id)).toEqual(['leg.fwd.0', 'leg.mon.0']);

      agent.kill('SIGKILL');
      await ended(agent);
      await cross();
      lab.startAgent();
      await until('it is back', () => lab.server.all('hello').length > hellos);
      lab.server.send({ type: 'desired', spec: nodeSpec({ ...spec, generation: 2, instances: [], hops: [] }) });
      await converged(lab, 2);
      expect(lab.interfaces()).toEqual(['e0']);
    });
  },
);
