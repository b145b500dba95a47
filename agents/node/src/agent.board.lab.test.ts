import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeSamples, NodeSpec, Target } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { builtModule, RealBoardd } from './testing/boards/real-boardd.js';
import { ended, Lab, labMissing, NODE_MAC } from './testing/lab.js';
import { until } from './testing/scratch.js';
import { instance, nodeSpec, output } from './testing/specs.js';

const missing =
  labMissing() ?? (builtModule('stateful-firewall') ? null : 'needs boardd and the firewall module built');

/** firewall on the board (denies port 23) -> monitor on the engine -> exit */
function chain(generation = 1): NodeSpec {
  return nodeSpec({
    generation,
    nic: { iface: 'e0', mac: NODE_MAC },
    gateway_mac: '02:00:00:00:00:fe',
    instances: [
      instance('p.fw.0', {
        nf: 'stateful-firewall',
        driver: 'board',
        board: { board: 'b1', slot: 0, load: 'partial', policy: 'hold' },
        config: { rules: [{ action: 'deny', proto: 'udp', dst_port: '23' }] },
        outputs: [output('p.e1', { kind: 'instance', instance_id: 'p.mon.0' })],
      }),
      instance('p.mon.0', { outputs: [output('p.e2', { kind: 'exit', exit_id: 'p.exit' })] }),
    ],
    hops: [{ hop: 1, instance_id: 'p.fw.0', direction: 'forward' }],
    exits: [{ exit_id: 'p.exit', chain_id: 'p', direction: 'forward' }],
  });
}

const WAVES = 8;

/** NAT on the board, replies through it to the return exit. */
function natChain(): NodeSpec {
  const spec = chain();
  const [firewall] = spec.instances;
  return nodeSpec({
    ...spec,
    instances: [
      {
        ...firewall!,
        id: 'p.nat.0',
        nf: 'nat',
        config: { external_addresses: ['198.18.0.1'] },
        outputs: [output('p.e1', { kind: 'exit', exit_id: 'p.exit' })],
        return_to: { kind: 'exit', exit_id: 'p.return' },
      },
    ],
    hops: [
      { hop: 1, instance_id: 'p.nat.0', direction: 'forward' },
      { hop: 2, instance_id: 'p.nat.0', direction: 'return' },
    ],
    exits: [...spec.exits, { exit_id: 'p.return', chain_id: 'p', direction: 'return' }],
  });
}

const KEY = '5f'.repeat(32);

/** Both ends of a crypto tunnel, one on the board and the other in the engine. */
function tunnelChain(onBoard: 'encrypt' | 'decrypt'): NodeSpec {
  const spec = chain();
  const [firewall] = spec.instances;
  const end = (mode: typeof onBoard, to: Target) => ({
    ...(mode === onBoard ? firewall! : instance('p.software.0')),
    id: `p.${mode}.0`,
    nf: 'crypto-tunnel',
    config: { mode, key: KEY },
    outputs: [output(`p.${mode}`, to)],
  });
  return nodeSpec({
    ...spec,
    instances: [
      end('encrypt', { kind: 'instance', instance_id: 'p.decrypt.0' }),
      end('decrypt', { kind: 'exit', exit_id: 'p.exit' }),
    ],
    hops: [{ hop: 1, instance_id: 'p.encrypt.0', direction: 'forward' }],
  });
}

async function setUp(spec = chain()) {
  const lab = new Lab();
  await lab.setUp();
  for (const [near, far] of [
    ['n0', 'n0b'],
    ['f0', 'f0b'],
  ] as const) {
    execFileSync('ip', ['-n', lab.node, 'link', 'add', near, 'type', 'veth', 'peer', 'name', far]);
    for (const end of [near, far])
      execFileSync('ip', ['-n', lab.node, 'link', 'set', 'dev', end, 'addrgenmode', 'none', 'arp', 'off', 'up']);
  }
  const ports = ['0:near=n0b', '0:far=f0b'];
  const board = new RealBoardd(lab.directory, 1, { netns: lab.node, ports });
  board.writeImage('m.bit', spec.instances[0]!.nf);
  await board.start();
  const { control, events } = board;
  const config = { id: 'b1', backend: 'simulated', control, events, images: '.', slots: [{ near: 'n0', far: 'f0' }] };
  const file = join(lab.directory, 'boards.json');
  writeFileSync(file, JSON.stringify([config]));
  const agent = lab.startAgent('--boards', file);
  await lab.server.next('hello');
  lab.server.send({ type: 'desired', spec });
  await converged(lab);
  return { lab, agent, board, file };
}

const converged = (lab: Lab, generation = 1) =>
  lab.server
    .next('observed', ({ observed }) => observed.state === 'converged' && observed.generation === generation, 25_000)
    .catch((error) => {
      throw new Error(`${error.message}\n${lab.agentLog}`);
    });

const of = (samples: NodeSamples) => samples.instances.find(({ instance_id }) => instance_id === 'p.fw.0');

describe.skipIf(missing !== null)(
  `agent with an engine and a board${missing ? ` (${missing})` : ''}`,
  { timeout: 60_000 },
  () => {
    it('sends packets through a module in a slot, reports its load, and counts what it drops', async () => {
      const { lab } = await setUp();
      const hello = lab.server.all('hello').at(-1)!;
      expect(hello.capabilities.boards).toMatchObject([{ id: 'b1', emulated: true, modules: ['stateful-firewall'] }]);
      const bytes = lab.server
        .all('observed')
        .flatMap(({ observed }) => observed.boards[0]?.slots[0]?.load?.bytes ?? []);
      expect(bytes.length).toBeGreaterThan(0);

      const out = await lab.exchange({ hop: 1, count: 20, expect: 20 });
      expect(out.length).toBe(20);
      for (const packet of out) expect(packet).toMatchObject({ src: '10.0.1.2', dst: '10.0.2.2', intact: true });
      expect(await lab.exchange({ hop: 1, count: 5, expect: 1, dport: 23, seconds: 0.5 })).toEqual([]);

      // The board is asked for its counters a moment before the instance is.
      const { samples } = await lab.server.next('samples', ({ samples }) => {
        const [board] = samples.boards;
        return of(samples)?.drops.denied === 5 && board?.slots[0]?.frames_in === 25;
      });
      expect(of(samples)).toMatchObject({ packets_in: 25, packets_out: 20 });
      expect(samples.boards).toMatchObject([{ board: 'b1', slots: [{ frames_in: 25, frames_out: 20, lost: 0 }, {}] }]);
      expect(await lab.instanceState('p.fw.0')).toMatchObject({ denied: 5, passed: 20 });
    });

    it.skipIf(!builtModule('nat'))('translates on the board, with mappings from the agent', async () => {
      const { lab } = await setUp(natChain());
      const out = await lab.exchange({ hop: 1, count: 5, expect: 5 });
      expect(out.length).toBe(5);
      for (const packet of out) expect(packet).toMatchObject({ src: '198.18.0.1', dst: '10.0.2.2', intact: true });
      // Five flows: source ports from 5000 on.
      expect(out.map(({ sport }) => sport)).toEqual([1024, 1025, 1026, 1027, 1028]);
      const reply = { src: '10.0.2.2', sport: 80, dst: '198.18.0.1', dport: 1025 };
      const [back] = await lab.exchange({ hop: 2, count: 1, expect: 1, ...reply });
      expect(back).toMatchObject({ src: '10.0.2.2', dst: '10.0.1.2', dport: 5001, intact: true });
      for (let wave = 1; wave <= WAVES; wave++)
        expect((await lab.exchange({ hop: 1, count: 1, expect: 1, sport: 6000 + wave })).length).toBe(1);
      const state = await lab.instanceState('p.nat.0');
      expect(state).toMatchObject({
        flows: 5 + WAVES,
        translated_forward: 5 + WAVES,
        translated_return: 1,
        proxy: { no_port: 0 },
      });
      const { round_trip } = state.proxy as { round_trip: { count: number; most_us: number } };
      expect(round_trip.count).toBe(5 + WAVES);
      console.log(`miss to translation: ${JSON.stringify(round_trip)}`);
    });

    it.skipIf(!builtModule('crypto-tunnel')).each(['encrypt', 'decrypt'] as const)(
      'tunnels between board and engine, of which one decrypts what the other has encrypted (%s on the board)',
      async (onBoard) => {
        const { lab } = await setUp(tunnelChain(onBoard));
        const out = await lab.exchange({ hop: 1, count: 20, expect: 20 });
        expect(out.length).toBe(20);
        for (const packet of out) expect(packet).toMatchObject({ src: '10.0.1.2', dst: '10.0.2.2', intact: true });
        const near = await lab.instanceState('p.encrypt.0');
        const far = await lab.instanceState('p.decrypt.0');
        expect(near).toMatchObject({ outbound: { sequence: 20 }, protected: { packets: 20 }, sessions_sent: 1 });
        const { spi } = near.outbound as { spi: number };
        expect(far).toMatchObject({ inbound: [{ spi, highest_sequence: 20 }], sessions_received: 1 });
        expect(far.unprotected).toEqual(near.protected);
      },
    );

    it('reloads a board that lost power, and packets get through again', async () => {
      const { lab, board } = await setUp();
      await lab.exchange({ hop: 1, count: 1, expect: 1 });
      await board.kill();
      await lab.server.next('event', ({ event }) => event === 'board.lost');
      expect(await lab.exchange({ hop: 1, count: 7, expect: 1, seconds: 0.5 })).toEqual([]);
      await lab.server.next('samples', ({ samples }) => samples.boards[0]?.slots[0]?.lost === 7);
      await board.start();
      const back = await lab.server.next('event', ({ event }) => event === 'board.back');
      expect(back).toMatchObject({ data: { lost: 7 } });
      const packet = await until('a packet crosses', async () => {
        const [seen] = await lab.exchange({ hop: 1, count: 1, expect: 1, seconds: 0.5 });
        return seen;
      });
      expect(packet.intact).toBe(true);
      expect(lab.server.all('event').filter(({ event }) => event === 'slot.loaded').length).toBe(2);
    });

    it('keeps working while the agent is dead; the next agent loads nothing', async () => {
      const { lab, agent, file } = await setUp();
      agent.kill('SIGKILL');
      await ended(agent);
      expect((await lab.exchange({ hop: 1, count: 3, expect: 3 })).length).toBe(3);
      lab.startAgent('--boards', file);
      await lab.server.next('event', ({ event }) => event === 'engine.adopted');
      await until('it runs again', () => lab.server.all('observed').at(-1)?.observed.state === 'converged');
      expect((await lab.exchange({ hop: 1, count: 3, expect: 3 })).length).toBe(3);
      expect(lab.server.all('event').filter(({ event }) => event === 'slot.loaded').length).toBe(1);
    });

    it('takes a new graph while a board interface is missing, and uses it again when it is back', async () => {
      const { lab, board } = await setUp();
      await board.kill();
      execFileSync('ip', ['-n', lab.node, 'link', 'del', 'dev', 'n0']);
      const wider = chain(2);
      wider.instances.push(instance('p.mon.1', { outputs: [output('p.e9', { kind: 'exit', exit_id: 'p.exit' })] }));
      wider.hops.push({ hop: 3, instance_id: 'p.mon.1', direction: 'forward' });
      lab.server.send({ type: 'desired', spec: wider });
      const other = await until('the other instance works', async () => {
        const [seen] = await lab.exchange({ hop: 3, count: 1, expect: 1, seconds: 0.5 });
        return seen;
      });
      expect(other.intact).toBe(true);
      execFileSync('ip', ['-n', lab.node, 'link', 'add', 'n0', 'type', 'veth', 'peer', 'name', 'n0b']);
      for (const end of ['n0', 'n0b'])
        execFileSync('ip', ['-n', lab.node, 'link', 'set', 'dev', end, 'addrgenmode', 'none', 'arp', 'off', 'up']);
      await board.start();
      await converged(lab, 2);
      expect((await lab.exchange({ hop: 1, count: 3, expect: 3 })).length).toBe(3);
    });
  },
);
