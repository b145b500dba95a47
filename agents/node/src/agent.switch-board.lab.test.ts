import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BoardPlace, NodeSamples, NodeSpec } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { builtModule, RealBoardd } from './testing/boards/real-boardd.js';
import { Lab, labMissing, NODE_MAC } from './testing/lab.js';
import { instance, nodeSpec, output } from './testing/specs.js';

const MODULES = ['stateful-firewall', 'elephant-detector'] as const;
const missing = labMissing() ?? (MODULES.every(builtModule) ? null : 'needs boardd and its modules built');

const NEXT_HOP = 7;
const NEXT_HOP_MAC = '02:0e:00:07:00:00';
/** Several times what a quiet machine needs. */
const STEP_MS = 40_000;
/** Of the board, compared with its profile: a partial load takes seconds, so that many packets meet it. */
const TIME_SCALE = 20;
/** More than are sent in the time that a test may take. */
const MOST_PACKETS = 60_000;

type Load = Pick<BoardPlace, 'load' | 'policy'>;

/** What a slot at a switch runs: packets leave it for hop 7, replies have nowhere to go. */
function spec(nf: (typeof MODULES)[number], generation: number, load: Load): NodeSpec {
  return nodeSpec({
    generation,
    nic: { iface: 'e0', mac: NODE_MAC },
    gateway_mac: '02:00:00:00:00:fe',
    instances: [
      instance(`p.${nf}.b1-0`, {
        nf,
        driver: 'board',
        board: { board: 'b1', slot: 0, ...load, attached: 'switch' },
        outputs: [output('p.e1', { kind: 'hop', hop: NEXT_HOP })],
      }),
      instance('p.mon.0', { outputs: [output('p.e2', { kind: 'exit', exit_id: 'p.exit' })] }),
    ],
    hops: [{ hop: 1, instance_id: `p.${nf}.b1-0`, direction: 'forward' }],
    exits: [{ exit_id: 'p.exit', chain_id: 'p', direction: 'forward' }],
  });
}

const AS_USUAL: Load = { load: 'partial', policy: 'hold' };

/** The board's interfaces in the namespace of its server, their links to the outside. */
async function setUp(time_scale = 1) {
  const lab = new Lab();
  await lab.setUp();
  for (const end of ['near', 'far']) {
    const cable = ['link', 'add', end, 'netns', lab.node, 'type', 'veth', 'peer', 'name', end, 'netns', lab.outside];
    execFileSync('ip', cable);
    for (const namespace of [lab.node, lab.outside])
      execFileSync('ip', ['-n', namespace, 'link', 'set', 'dev', end, 'addrgenmode', 'none', 'arp', 'off', 'up']);
  }
  const board = new RealBoardd(lab.directory, time_scale, {
    netns: lab.node,
    ports: ['0:near=near', '0:far=far'],
  });
  for (const module of MODULES) {
    board.writeImage(`${module}.bit`, module);
    board.writeFullImage(`${module}.full.bit`, [module, null]);
  }
  await board.start();
  const { control, events } = board;
  const slots = [{ near: 'near', far: 'far' }];
  const config = { id: 'b1', backend: 'simulated', attached: 'switch', control, events, images: '.', slots };
  const file = join(lab.directory, 'boards.json');
  writeFileSync(file, JSON.stringify([config]));
  lab.startAgent('--boards', file);
  await lab.server.next('hello');
  const runs = async (wanted: NodeSpec) => {
    lab.server.send({ type: 'desired', spec: wanted });
    const done = ({ state, generation }: { state: string; generation: number }) =>
      state === 'converged' && generation === wanted.generation;
    await lab.server
      .next('observed', ({ observed }) => done(observed), STEP_MS)
      .catch((error) => {
        throw new Error(`${error.message}\n${lab.agentLog}`);
      });
  };
  await runs(spec('stateful-firewall', 1, AS_USUAL));
  return { lab, runs };
}

const slotIn = (samples: NodeSamples) => samples.boards[0]?.slots[0];

describe.skipIf(missing !== null)(
  `agent with a board at a switch${missing ? ` (${missing})` : ''}`,
  { timeout: 3 * STEP_MS },
  () => {
    it('counts what its shell has no next hop for, and does not take it for passed on', async () => {
      const { lab } = await setUp();
      const out = await lab.exchange({ iface: 'near', 'out-iface': 'far', hop: 1, count: 10, expect: 10 });
      expect(out.map(({ dst_mac, intact }) => [dst_mac, intact])).toEqual(Array(10).fill([NEXT_HOP_MAC, true]));
      const replies = { iface: 'far', 'out-iface': 'near', hop: 2, count: 6, expect: 1, seconds: 0.5 };
      expect(await lab.exchange(replies)).toEqual([]);
      const { samples } = await lab.server.next('samples', (it) => slotIn(it.samples)?.no_hop === 6, STEP_MS);
      expect(slotIn(samples)).toMatchObject({ frames_in: 16, frames_out: 16, lost: 0, no_hop: 6 });
      const inSlot = samples.instances.find(({ instance_id }) => instance_id === 'p.stateful-firewall.b1-0');
      expect(inSlot).toMatchObject({ packets_in: 16, packets_out: 10, drops: { 'no-hop': 6 } });
    });

    it.each([
      { load: 'partial', policy: 'hold' },
      { load: 'partial', policy: 'drop' },
      { load: 'partial', policy: 'bypass' },
      { load: 'full', policy: 'hold' },
    ] as const)(
      'accounts for every packet of a swap under traffic, and none leaves without its hop: $load, $policy',
      async (load) => {
        const { lab, runs } = await setUp(TIME_SCALE);
        const until = join(lab.directory, 'no-more');
        const most = { count: MOST_PACKETS, expect: MOST_PACKETS, rate: 400, flows: 1000 };
        const received = lab.exchange({ iface: 'near', 'out-iface': 'far', hop: 1, ...most, until });
        await lab.server.next('samples', ({ samples }) => (slotIn(samples)?.frames_in ?? 0) > 100, STEP_MS);
        await runs(spec('elephant-detector', 2, load));
        writeFileSync(until, '');
        const out = await received;
        const count = Number(readFileSync(until, 'utf8'));
        const numbers = out.map(({ number }) => number);
        expect(numbers, 'in order, none twice').toEqual([...new Set(numbers)].sort((a, b) => a - b));
        expect(new Set(out.map(({ dst_mac }) => dst_mac))).toEqual(new Set([NEXT_HOP_MAC]));
        const lost = count - out.length;
        const isAllCounted = (slot: ReturnType<typeof slotIn>) =>
          slot?.lost === lost && slot.frames_out + slot.bypassed === out.length;
        const { samples } = await lab.server.next('samples', (it) => isAllCounted(slotIn(it.samples)), STEP_MS);
        const { frames_in, frames_out, bypassed, no_hop } = slotIn(samples)!;
        expect({ frames_in, no_hop }).toEqual({ frames_in: frames_out, no_hop: 0 });
        const { observed } = lab.server.all('observed').at(-1)!;
        const swap = observed.boards[0]!.last_load!;
        expect(swap).toMatchObject({ kind: load.load, lost, bypassed });
        const goes =
          load.load === 'full' ? 'lost' : ({ hold: 'held', drop: 'lost', bypass: 'bypassed' } as const)[load.policy];
        for (const fate of ['held', 'lost', 'bypassed'] as const)
          expect(swap[fate] > 50, `${fate}: ${JSON.stringify(swap)}`).toBe(fate === goes);
        if (goes !== 'lost') expect(lost).toBe(0);
      },
    );
  },
);
