import {
  type ImplementationChoice,
  type Infrastructure,
  type NfDescriptor,
  nfInstances,
  type Plan,
  type SlotRef,
} from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOOK_ASIDE } from '../engine-costs.js';
import { CORE_BUDGET, cyclesPerPacket } from '../igraph/sizing.js';
import { makePlan } from '../plan/make-plan.js';
import { board, withBoard } from '../testing/boards.js';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { nodesIn, PHASES } from '../transition/phases.js';

const SLOW = withBoard(descriptor('sqli', { cycles: 200_000 }), 5000);
const PLAIN = descriptor('plain');
const TWO_BOARDS = [board('board-1', 'server-1'), board('board-2', 'server-2', { slots: 1 })];

interface Asked {
  chains?: readonly { id: string; nf?: string; max_us?: number; rate_bps?: number }[];
  descriptors?: readonly NfDescriptor[];
  boards?: Infrastructure['boards'];
  base?: Plan | null;
  implementations?: readonly ImplementationChoice[];
  reserved_slots?: readonly SlotRef[];
  without_slots?: readonly SlotRef[];
}

function plan({
  chains = [{ id: 'a' }],
  descriptors = [SLOW, PLAIN],
  boards = TWO_BOARDS,
  base = null,
  ...rest
}: Asked = {}) {
  const planned = chains.map(({ id, nf = 'sqli', max_us, rate_bps = 1e6 }) => ({
    chain_id: `p-${id}`,
    version: 1,
    definition: chainOf(
      { s: nf },
      [
        ['in', 's'],
        ['s', 'out'],
      ],
      {
        name: id,
        rate_bps,
        match: [['port.dst', 'is', 1000 + chains.findIndex((it) => it.id === id)]],
        slos: max_us === undefined ? [] : [{ id: 'fast', kind: 'latency', percentile: 99, max_us }],
      },
    ),
  }));
  return makePlan({
    id: 'plan',
    created_ms: 0,
    chains: planned,
    descriptors,
    infrastructure: { ...rack({ servers: 2, ghz: 1, cores: 4 }), boards },
    base,
    budget: { steps: 20 },
    ...rest,
  });
}

/** Of a core that a slot takes per bit per second of packets of the plan's length. */
const PER_BPS = cyclesPerPacket(LOOK_ASIDE, 800) / (8 * 800 * 1e9);

const choose = (chain: string, on: 'software' | 'board', slot?: SlotRef): ImplementationChoice => ({
  chain_id: `p-${chain}`,
  node_id: 's',
  on,
  ...(slot ? { slot } : {}),
  load: 'partial',
  policy: 'hold',
});
const placesOf = ({ graph }: Plan) => nfInstances(graph).map(({ id, driver, server }) => ({ id, driver, server }));
const BOARD_1 = { board: 'board-1', slot: 0 };
const BOARD_2 = { board: 'board-2', slot: 0 };

describe('what boards run', () => {
  it('is nothing while software meets every requirement', () => {
    expect(placesOf(plan())).toMatchObject([{ id: 'a.s.0', driver: 'engine' }]);
  });

  it('is what software is too slow for, on the server of the board, wired like any other instance', () => {
    const made = plan({ chains: [{ id: 'a', max_us: 100 }] });
    const [instance] = nfInstances(made.graph);
    expect(instance).toMatchObject({ driver: 'board', board: { load: 'partial', policy: 'hold' } });
    const { board: on, slot } = instance!.board!;
    expect(instance).toMatchObject({
      id: `a.s.${on}-${slot}`,
      server: TWO_BOARDS.find(({ id }) => id === on)!.server,
    });
    expect(made.nodes[instance!.server]!.instances[0]).toMatchObject({ id: instance!.id, board: instance!.board });
    expect(made.fabric.rules[0]!.targets[0]!.server).toBe(instance!.server);
    expect(made.slos[0]!.predicted).toBeLessThan(100);
  });

  it('is what was asked for, in the slot that was asked for, even a reserved one', () => {
    const implementations = [choose('a', 'board', BOARD_1)];
    const made = plan({ implementations, reserved_slots: [BOARD_1] });
    expect(placesOf(made)).toEqual([{ id: 'a.s.board-1-0', driver: 'board', server: 'server-1' }]);
    expect(made.reasons.find(({ part }) => part === 'infrastructure')).toMatchObject({
      decision: 'board on board-1 slot 0',
      because: expect.stringMatching(
        /^Requested\. board-1 slot 0: .* cycles per packet to forward to it; software needs \d+\.$/,
      ),
    });
  });

  describe('rated by module', () => {
    const bytewise = {
      ...SLOW,
      implementations: SLOW.implementations.map((it) =>
        it.kind === 'board' ? { ...it, cost: { ...it.cost, cycles_per_packet: 1, cycles_per_byte: 1 } } : it,
      ),
    };
    const onBoards = (rate_bps: number, ...chains: string[]) =>
      plan({
        chains: chains.map((id) => ({ id, rate_bps })),
        descriptors: [bytewise, PLAIN],
        boards: TWO_BOARDS.map((it) => ({ ...it, clock_mhz: 100 })),
        implementations: chains.map((id) => choose(id, 'board')),
      });

    it.each([['one'], ['one', 'another']])(
      'refuses what the module does not carry, though the port would: %s %s',
      (...chains) => {
        const made = onBoards(1e9, ...chains.filter(Boolean));
        expect(made.feasible).toBe(false);
        expect(made.conflicts[0]).toMatchObject({ constraint: 'throughput', needed: 1e9, unit: 'bps' });
        expect(made.conflicts[0]!.available).toBeCloseTo(0.799e9, -6);
        expect(onBoards(0.7e9, ...chains.filter(Boolean)).feasible).toBe(true);
      },
    );
  });

  it('goes round reserved slots and boards that may not be used', () => {
    const implementations = [choose('a', 'board')];
    const reserved_slots = [BOARD_1, { board: 'board-1', slot: 1 }];
    expect(nfInstances(plan({ implementations, reserved_slots }).graph)[0]!.board!.board).toBe('board-2');
    expect(nfInstances(plan({ implementations, without_slots: [BOARD_2] }).graph)[0]!.board!.board).toBe('board-1');
    const none = plan({ implementations, reserved_slots, without_slots: [BOARD_2] });
    expect(none.feasible).toBe(false);
    expect(none.conflicts[0]).toMatchObject({ needed: 1, available: 0, unit: 'devices' });
  });

  it('stays while its board may be used, and goes back to software when not or when asked', () => {
    const base = plan({ implementations: [choose('a', 'board', BOARD_1)] });
    expect(plan({ base }).diff.kept).toEqual(['a.s.board-1-0']);
    for (const back of [plan({ base, without_slots: [BOARD_1] }), plan({ base, boards: [] })]) {
      expect(placesOf(back)).toMatchObject([{ id: 'a.s.0', driver: 'engine' }]);
      expect(back).toMatchObject({ abandoned: ['a.s.board-1-0'], migrations: [] });
    }
    const asked = plan({ base, implementations: [choose('a', 'software')] });
    expect(asked.diff).toMatchObject({ added: ['a.s.0'], removed: ['a.s.board-1-0'] });
    expect(asked.migrations).toEqual([
      { from: 'a.s.board-1-0', from_server: 'server-1', to: 'a.s.0', to_server: nfInstances(asked.graph)[0]!.server },
    ]);
  });

  it('is placed on the server of its board because no other has the board, and later because it runs there', () => {
    const implementations = [choose('a', 'board', BOARD_1)];
    const reasonOf = ({ reasons }: Plan) =>
      reasons.find(({ part, subject }) => part === 'placement' && subject === 'a.s.board-1-0');
    const base = plan({ implementations });
    expect(reasonOf(base)).toMatchObject({
      because: 'No other server has what it needs: board-1.',
      candidates: [
        { name: 'server-1', chosen: true, feasible: true },
        { name: 'server-2', feasible: false, constraint: { constraint: 'implementation', unit: 'board-1' } },
      ],
    });
    expect(reasonOf(plan({ base }))!.because).toMatch(/^It runs there now/);
  });

  it('takes any core of the server of its board, and no more than there is', () => {
    const boards = ['board-1', 'board-2', 'board-3'].map((id) => board(id, 'server-1'));
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const at = (count: number, rate_bps: number) => {
      const chains = ids.slice(0, count).map((id) => ({ id, rate_bps }));
      return plan({ chains, boards, implementations: chains.map(({ id }) => choose(id, 'board')) });
    };
    const rate_bps = 0.6 / PER_BPS;
    const instances = nfInstances(at(4, rate_bps).graph);
    expect(instances.map(({ server }) => server)).toEqual(instances.map(() => 'server-1'));
    expect(new Set(instances.map(({ core }) => core)).size).toBe(4);
    const { feasible, conflicts } = at(5, rate_bps);
    expect(feasible).toBe(false);
    expect(conflicts).toContainEqual(expect.objectContaining({ constraint: 'cpu', where: 'server-1' }));
  });

  it('takes no more than one core forwards to it', () => {
    const budget_bps = CORE_BUDGET / PER_BPS;
    const at = (rate_bps: number, on: readonly ImplementationChoice[] = []) =>
      plan({ chains: [{ id: 'a', max_us: 150, rate_bps }], implementations: on });
    // Only the board is fast enough: software takes 200 us.
    expect(placesOf(at(0.99 * budget_bps))).toMatchObject([{ driver: 'board' }]);
    expect(placesOf(at(1.01 * budget_bps)).every(({ driver }) => driver === 'engine')).toBe(true);
    const { feasible, conflicts } = at(1.01 * budget_bps, [choose('a', 'board', BOARD_1)]);
    expect(feasible).toBe(false);
    expect(conflicts).toMatchObject([{ constraint: 'throughput', where: 'board-1 slot 0' }]);
    expect(conflicts[0]!.available).toBeCloseTo(budget_bps, 0);
  });

  it('finds no room where what runs would have to leave its server for it', () => {
    const descriptors = [withBoard(descriptor('sqli'), 5000), descriptor('plain', { cycles: 10_000 })];
    const share = nfInstances(plan({ chains: [{ id: 'b', nf: 'plain' }], descriptors }).graph)[0]!.core_share;
    const rate_bps = (0.8 / share) * 1e6;
    const running = ['b', 'c', 'd', 'e'].map((id) => ({ id, nf: 'plain', rate_bps }));
    const asked = { id: 'a', rate_bps };
    const base = plan({ chains: [...running, asked], descriptors });
    expect(nfInstances(base.graph).map(({ server }) => server)).toEqual([...running.map(() => 'server-1'), 'server-2']);
    const implementations = [choose('a', 'board', BOARD_1)];
    const full = plan({ chains: [asked, ...running], descriptors, base, implementations });
    expect(full).toMatchObject({ feasible: false, conflicts: [{ constraint: 'affinity' }, {}, {}] });
  });

  it('is loaded before traffic is led to it, and software ends after', () => {
    const base = plan();
    const { steps } = plan({ base, implementations: [choose('a', 'board', BOARD_1)] });
    const kinds = steps.map(({ kind }) => kind);
    const order = PHASES.flatMap((phase) => kinds.filter((kind) => kind.startsWith(phase)));
    expect(kinds).toEqual(order);
    expect(kinds.slice(0, 3)).toEqual(['prepare-node', 'extend-fabric', 'steer-fabric']);
    expect(kinds).toContain('clean-node');
  });

  it('is dropped first by the node where its slot does not work, and nothing there leads to it any more', () => {
    const base = plan({ implementations: [choose('a', 'board', BOARD_1)] });
    const fallback = plan({ base, without_slots: [BOARD_1] });
    const told = nodesIn('prepare', base.nodes, fallback.nodes, new Set(fallback.abandoned));
    const specs = Object.values(told);
    expect(specs.flatMap(({ instances }) => instances.map(({ id }) => id))).toEqual(['a.s.0']);
    expect(specs.flatMap(({ hops }) => hops.map(({ instance_id }) => instance_id))).toEqual(['a.s.0']);
  });

  it('does not take a slot that is in use until its user has left', () => {
    const chains = [{ id: 'a' }, { id: 'b' }];
    const base = plan({ chains, implementations: [choose('a', 'board', BOARD_1)] });
    const swap = [choose('a', 'software'), choose('b', 'board', BOARD_1)];
    expect(plan({ chains, base, implementations: swap }).conflicts).toEqual([
      { constraint: 'capacity', needed: 1, available: 0, unit: 'free slots', where: 'board-1 slot 0' },
    ]);
    const left = plan({ chains, base, implementations: [choose('a', 'software')] });
    const taken = plan({ chains, base: left, implementations: [choose('b', 'board', BOARD_1)] });
    expect(placesOf(taken).map(({ id }) => id)).toEqual(['a.s.0', 'b.s.board-1-0']);
  });

  it.each([
    ['full', 'partial'],
    ['partial', 'full'],
  ] as const)('%s and %s loads of one plan do not share a board', (first, second) => {
    const chains = [{ id: 'a' }, { id: 'b' }];
    const choices = (slots: (SlotRef | undefined)[]) => [
      { ...choose('a', 'board', slots[0]), load: first },
      { ...choose('b', 'board', slots[1]), load: second },
    ];
    const [one] = TWO_BOARDS;
    const asked = (boards: typeof TWO_BOARDS, ...slots: (SlotRef | undefined)[]) =>
      plan({ chains, boards, implementations: choices(slots) });
    expect(asked([one!]).feasible).toBe(false);
    expect(asked([one!], BOARD_1, { board: 'board-1', slot: 1 }).feasible).toBe(false);
    expect(asked([one!], BOARD_1).feasible).toBe(false);
    const apart = asked(TWO_BOARDS);
    expect(apart.feasible).toBe(true);
    expect(new Set(nfInstances(apart.graph).flatMap(({ board }) => board?.board ?? [])).size).toBe(2);
    const alike = plan({ chains, boards: [one!], implementations: choices([]).map((it) => ({ ...it, load: first })) });
    expect(alike.feasible).toBe(true);
  });

  it('by a full load goes to a board that nothing runs on, not even the NF itself in another slot', () => {
    const chains = [{ id: 'a' }, { id: 'b' }];
    const base = plan({ chains, implementations: [choose('a', 'board', BOARD_1)] });
    const full = (chain: string, slot?: SlotRef) =>
      plan({ chains, base, implementations: [{ ...choose(chain, 'board', slot), load: 'full' }] });
    const beside = { board: 'board-1', slot: 1 };
    for (const chain of ['a', 'b'])
      expect(full(chain, beside)).toMatchObject({
        feasible: false,
        conflicts: [{ where: 'board-1 slot 1', available: 0, unit: 'boards for full loads' }],
      });
    expect(full('b')).toMatchObject({ feasible: true });
    expect(nfInstances(full('b').graph).find(({ chain_id }) => chain_id === 'p-b')!.board!.board).toBe('board-2');
    const busy = plan({ chains, boards: [TWO_BOARDS[0]!], implementations: [choose('a', 'board', BOARD_1)] });
    const none = plan({
      chains,
      boards: [TWO_BOARDS[0]!],
      base: busy,
      implementations: [{ ...choose('b', 'board'), load: 'full' }],
    });
    expect(none.feasible).toBe(false);
  });

  it('is asked for once for each NF of a chain that is planned, or the field is named', () => {
    const twice = plan({ implementations: [choose('a', 'board'), choose('a', 'software')] });
    expect(twice).toMatchObject({ feasible: false, problems: [{ pointer: '/implementations/1/node_id' }] });
    const unknown = plan({ implementations: [choose('zz', 'board')] });
    expect(unknown).toMatchObject({ feasible: false, problems: [{ pointer: '/implementations/0/chain_id' }] });
  });

  it('must fit: resources, bandwidth and kind are checked by name', () => {
    const implementations = [choose('a', 'board', BOARD_1)];
    const large = [withBoard(descriptor('sqli', { cycles: 1 }), 20_000)];
    expect(plan({ descriptors: large, implementations }).conflicts).toMatchObject([
      { constraint: 'capacity', needed: 20_000, available: 10_000, unit: 'lut', where: 'board-1 slot 0' },
    ]);
    const thin = [board('board-1', 'server-1', { bandwidth_bps: 1000 })];
    expect(plan({ boards: thin, implementations }).conflicts).toMatchObject([{ constraint: 'throughput' }]);
    const wrong = (choice: ImplementationChoice, nf = 'sqli') =>
      plan({ chains: [{ id: 'a', nf }], implementations: [choice] }).problems.map(({ pointer }) => pointer);
    expect(wrong({ ...choose('a', 'board'), node_id: 'x' })).toEqual(['/implementations/0/node_id']);
    expect(wrong(choose('a', 'board'), 'plain')).toEqual(['/implementations/0/on']);
    expect(wrong(choose('a', 'board', { board: 'board-9', slot: 0 }))).toEqual(['/implementations/0/slot/board']);
    expect(wrong(choose('a', 'board', { board: 'board-1', slot: 2 }))).toEqual(['/implementations/0/slot/slot']);
  });

  it('keeps an external address when it changes between software and a board', () => {
    const nat = withBoard(
      descriptor('sqli', { return_traffic: true, default_config: { external_addresses: [] } }),
      5000,
    );
    const base = plan({ descriptors: [nat] });
    const moved = plan({ descriptors: [nat], base, implementations: [choose('a', 'board', BOARD_1)] });
    const addressOf = ({ nodes }: Plan) =>
      Object.values(nodes).flatMap(({ instances }) => instances.map(({ config }) => config.external_addresses))[0];
    expect(addressOf(moved)).toEqual(addressOf(base));
    expect(moved.fabric.rules.find(({ kind }) => kind === 'return')!.targets[0]!.server).toBe('server-1');
  });

  it('gives every slot to one NF at most, and each NF a slot with room for it, offline and online', () => {
    const chain = fc.record({ lut: fc.integer({ min: 1, max: 12_000 }), asked: fc.boolean() });
    const shape = fc.record({ chains: fc.array(chain, { minLength: 1, maxLength: 6 }), online: fc.boolean() });
    let full = 0;
    fc.assert(
      fc.property(shape, ({ chains, online }) => {
        const names = chains.map((_, i) => `c${i}`);
        const descriptors = chains.map(({ lut }, i) => withBoard(descriptor(`nf${i}`), lut));
        const request = {
          chains: names.map((id, i) => ({ id, nf: `nf${i}` })),
          descriptors,
          boards: [TWO_BOARDS[0]!, board('board-2', 'server-2', { slots: 1, resources: { lut: 12_000 } })],
          implementations: names.flatMap((id, i) => (chains[i]!.asked ? [choose(id, 'board')] : [])),
        };
        const base = online ? plan({ ...request, implementations: [] }) : null;
        const made = plan({ ...request, base });
        if (!made.feasible) {
          expect(made.conflicts.length).toBeGreaterThan(0);
          return;
        }
        const used = nfInstances(made.graph).flatMap(({ board: place, nf }) => (place ? [{ place, nf }] : []));
        expect(used.length).toBe(request.implementations.length);
        if (used.length === 3) full++;
        expect(new Set(used.map(({ place }) => `${place.board}/${place.slot}`)).size).toBe(used.length);
        for (const { place, nf } of used) {
          const { lut } = chains[Number(nf.slice(2))]!;
          expect(lut).toBeLessThanOrEqual(place.board === 'board-2' ? 12_000 : 10_000);
        }
      }),
      { numRuns: 300, seed: 4 },
    );
    expect(full).toBeGreaterThan(0);
  });
});
