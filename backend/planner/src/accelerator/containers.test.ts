import { type ImplementationChoice, type NfDescriptor, nfInstances, type Plan } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOOK_ASIDE } from '../engine-costs.js';
import { cyclesPerPacket } from '../igraph/sizing.js';
import type { PlanInput } from '../plan/input.js';
import { makePlan } from '../plan/make-plan.js';
import { board, withBoard } from '../testing/boards.js';
import { chainOf } from '../testing/chains.js';
import { withContainer } from '../testing/containers.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { nodesIn } from '../transition/phases.js';
import { forwardedRateBps } from './slot-rate.js';

const NF = withContainer(descriptor('nf'));
const OFFERING = ['server-2'];

interface Asked extends Partial<PlanInput> {
  readonly nf?: NfDescriptor;
  readonly nodes?: readonly string[];
  readonly max_us?: number;
  readonly rate_bps?: number;
}

/** A chain of equal NFs on three servers, of which the second offers containers. */
function plan({ nf = NF, nodes = ['a'], max_us, rate_bps = 1e6, ...rest }: Asked = {}): Plan {
  const definition = chainOf(
    Object.fromEntries(nodes.map((node) => [node, 'nf'])),
    [...nodes, 'out'].map((node, i) => [i === 0 ? 'in' : nodes[i - 1]!, node]),
    { rate_bps, slos: max_us === undefined ? [] : [{ id: 'fast', kind: 'latency', percentile: 99, max_us }] },
  );
  return makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [{ chain_id: 'p-1', version: 1, definition }],
    descriptors: [nf],
    infrastructure: rack({ servers: 3, ghz: 1, cores: 4 }),
    container_servers: OFFERING,
    base: null,
    budget: { steps: 20 },
    ...rest,
  });
}

const choose = (node_id: string, on: ImplementationChoice['on']): ImplementationChoice => ({
  chain_id: 'p-1',
  node_id,
  on,
  load: 'partial',
  policy: 'hold',
});
const inContainer = (...nodes: string[]) => ({ implementations: nodes.map((node) => choose(node, 'container')) });
const placesOf = ({ graph }: Plan) => nfInstances(graph).map(({ id, driver, server }) => ({ id, driver, server }));
const reasonOf = ({ reasons }: Plan) => reasons.find(({ part }) => part === 'infrastructure');
const IN_CONTAINER = [{ id: 'p.a.container-0', driver: 'container', server: 'server-2' }];

describe('what runs in a container', () => {
  it('is what was asked for, on a server that offers containers, wired and priced as one', () => {
    const made = plan({ ...inContainer('a'), max_us: 1000 });
    expect(placesOf(made)).toEqual(IN_CONTAINER);
    expect(made.nodes['server-2']!.instances[0]).toMatchObject({ id: 'p.a.container-0', driver: 'container' });
    expect(made.fabric.rules[0]!.targets[0]!.server).toBe('server-2');
    expect(nfInstances(made.graph)[0]!.core_share).toBeCloseTo((made.pgraph.nodes[0]!.load_pps * 10_000) / 1e9, 9);
    expect(made.slos[0]!.predicted - plan({ max_us: 1000 }).slos[0]!.predicted).toBeGreaterThan(50);
    expect(made.classes[0]!.mean_us).toBeGreaterThan(60);
    expect(reasonOf(made)).toMatchObject({
      decision: 'container on server-2',
      because: 'Requested.',
      candidates: [
        { name: 'software on server-1', chosen: false, feasible: true },
        { name: 'software on server-2', chosen: false },
        { name: 'software on server-3', chosen: false },
        { name: 'container on server-2', chosen: true },
      ],
    });
  });

  it('is nothing by itself while software meets every requirement, nor where both are too slow', () => {
    expect(placesOf(plan())).toMatchObject([{ id: 'p.a.0', driver: 'engine' }]);
    expect(reasonOf(plan())!.decision).toBe('software on server-1');
    const slow = withContainer(descriptor('nf', { cycles: 200_000 }), { cycles: 209_000 });
    expect(placesOf(plan({ nf: slow, max_us: 100 }))).toMatchObject([{ driver: 'engine' }]);
    const boards = [board('board-1', 'server-1')];
    const infrastructure = { ...rack({ servers: 3, ghz: 1, cores: 4 }), boards };
    expect(placesOf(plan({ nf: withBoard(slow, 1), max_us: 100, infrastructure }))).toMatchObject([
      { driver: 'board' },
    ]);
  });

  it('is what software is too slow for and a container is not, before any board (HYPER Figure 2)', () => {
    const nf = withBoard(withContainer(descriptor('nf', { cycles: 200_000 }), { cycles: 1000 }), 1);
    const infrastructure = { ...rack({ servers: 3, ghz: 1, cores: 4 }), boards: [board('board-1', 'server-1')] };
    const made = plan({ nf, max_us: 150, infrastructure });
    expect(placesOf(made)).toEqual(IN_CONTAINER);
    const gbps = (forwardedRateBps(1e9, 800) / 1e9).toPrecision(2);
    const forwards = Math.round(cyclesPerPacket(LOOK_ASIDE, 800));
    expect(reasonOf(made)!.because).toBe(
      `Software falls short in latency; a container meets every requirement. A slot of board-1: ${gbps} Gbit/s with packets of 800 bytes; the engine spends ${forwards} cycles per packet to forward to it; software needs 200000.`,
    );
  });

  it('is an NF that has no other form, and cannot be planned where nobody offers containers', () => {
    const nf = withContainer(NF, { only: true });
    expect(placesOf(plan({ nf }))).toEqual(IN_CONTAINER);
    expect(plan({ nf, container_servers: [] }).problems).toMatchObject([
      { code: 'unknown-nf', pointer: '/nodes/1/nf' },
    ]);
    const software = plan({ nf, implementations: [choose('a', 'software')] });
    expect(software.problems).toMatchObject([{ code: 'bad-implementation', pointer: '/implementations/0/on' }]);
  });

  it('stays while its server offers containers, then goes back to software without waiting for it', () => {
    const base = plan(inContainer('a'));
    expect(plan({ base }).diff.kept).toEqual(['p.a.container-0']);
    expect(reasonOf(plan({ base }))!.because).toBe('It already runs there.');
    expect(reasonOf(plan({ base, ...inContainer('a') }))!.because).toBe('It already runs there.');
    for (const container_servers of [[], ['server-1']]) {
      const back = plan({ base, container_servers });
      expect(placesOf(back)).toMatchObject([{ id: 'p.a.0', driver: 'engine' }]);
      expect(back).toMatchObject({ abandoned: ['p.a.container-0'], migrations: [] });
      expect(reasonOf(back)).toMatchObject({ because: 'server-2 no longer offers containers.' });
      const first = nodesIn('prepare', base.nodes, back.nodes, new Set(back.abandoned));
      expect(Object.values(first).flatMap(({ instances }) => instances.map(({ id }) => id))).toEqual(['p.a.0']);
    }
  });

  it('moves to another server that offers containers when that is asked for and its own does not any more', () => {
    const base = plan(inContainer('a'));
    const moved = plan({ base, ...inContainer('a'), container_servers: ['server-3'] });
    expect(placesOf(moved)).toEqual([{ ...IN_CONTAINER[0], id: 'p.a.container-0-2', server: 'server-3' }]);
    expect(moved.abandoned).toEqual(['p.a.container-0']);
    const first = nodesIn('prepare', base.nodes, moved.nodes, new Set(moved.abandoned));
    expect(first['server-2']!.instances).toEqual([]);
    expect(first['server-3']!.instances.map(({ id }) => id)).toEqual(['p.a.container-0-2']);
  });

  it('takes its flows along from software and back', () => {
    const software = plan();
    const container = plan({ base: software, ...inContainer('a') });
    const back = plan({ base: container, implementations: [choose('a', 'software')] });
    const server = nfInstances(software.graph)[0]!.server;
    const there = { from: 'p.a.0', from_server: server, to: 'p.a.container-0', to_server: 'server-2' };
    expect(container.migrations).toEqual([there]);
    expect(back.migrations).toMatchObject([{ from: 'p.a.container-0', from_server: 'server-2', to: 'p.a.0' }]);
    expect(back.abandoned).toEqual([]);
  });

  it('is as many instances as the cost of a container needs, all on servers that offer them', () => {
    const made = plan({ ...inContainer('a'), rate_bps: 1e9, container_servers: ['server-2', 'server-3'] });
    expect(nfInstances(made.graph).length).toBeGreaterThan(1);
    expect(nfInstances(made.graph).map(({ id }) => id)).toEqual(
      nfInstances(made.graph).map((_, i) => `p.a.container-${i}`),
    );
    expect(new Set(nfInstances(made.graph).map(({ server }) => server))).toEqual(new Set(['server-2', 'server-3']));
  });

  it('is refused with the field, in words, or with what every server lacks', () => {
    const problem = (asked: Asked) => plan(asked).problems.map(({ pointer, message }) => [pointer, message]);
    expect(problem({ ...inContainer('a'), container_servers: [] })).toEqual([
      ['/implementations/0/on', 'no server offers containers, so nf cannot run in one'],
    ]);
    expect(problem({ ...inContainer('a'), container_servers: ['server-9'] })[0]![0]).toBe('/implementations/0/on');
    expect(problem({ ...inContainer('a'), nf: descriptor('nf') })).toEqual([
      ['/implementations/0/on', 'nf has no implementation for containers'],
    ]);
    for (const on of ['software', 'container'] as const) {
      const implementations = [{ ...choose('a', on), slot: { board: 'board-1', slot: 0 } }];
      expect(problem({ implementations })).toEqual([
        ['/implementations/0/slot', `only boards have slots, and nf is to run as ${on}`],
      ]);
    }
    const full = plan({ ...inContainer('a'), rate_bps: 4e9 });
    expect(full.feasible).toBe(false);
    expect(full.conflicts).toEqual(
      expect.arrayContaining([
        { constraint: 'implementation', needed: 1, available: 0, unit: 'container runtime', where: 'server-1' },
        expect.objectContaining({ constraint: 'cpu', where: 'server-2' }),
      ]),
    );
  });
});

const NODES = ['a', 'b', 'c'];
const forms = fc.tuple(
  ...NODES.map(() => fc.constantFrom<ImplementationChoice['on'] | null>('software', 'container', null)),
);
const servers = fc.subarray(['server-1', 'server-2', 'server-3'], { minLength: 1 });
const strategies = fc.constantFrom('e2', 'packing', 'first-fit', 'first-fit-decreasing', 'random');
const choices = (drawn: readonly (ImplementationChoice['on'] | null)[]) =>
  drawn.flatMap((on, i) => (on ? [choose(NODES[i]!, on)] : []));

describe('whatever is asked for and offered', () => {
  it('asked means given, what runs stays, only offering servers host, and ids are unique during a move', () => {
    const seen = { containers: 0, stayed: 0, moved: 0, lost: 0 };
    fc.assert(
      fc.property(forms, forms, servers, servers, strategies, (first, second, offering, later, strategy) => {
        const about = { nodes: NODES, options: { strategy } } as const;
        const base = plan({ ...about, implementations: choices(first), container_servers: offering });
        expect(base.feasible).toBe(true);
        const next = plan({ ...about, base, implementations: choices(second), container_servers: later });
        expect(next.feasible).toBe(true);
        const driverIn = ({ graph }: Plan, node: string) => nfInstances(graph).find(({ node_id }) => node_id === node)!;
        NODES.forEach((node, i) => {
          const before = driverIn(base, node);
          expect(before.driver).toBe(first[i] === 'container' ? 'container' : 'engine');
          const lost = before.driver === 'container' && !later.includes(before.server);
          const kept = second[i] === null && before.driver === 'container' && !lost;
          expect(driverIn(next, node).driver).toBe(second[i] === 'container' || kept ? 'container' : 'engine');
          expect(next.abandoned.includes(before.id)).toBe(lost);
          if (kept) expect(driverIn(next, node)).toMatchObject({ id: before.id, server: before.server });
          seen.stayed += Number(kept);
          seen.lost += Number(lost);
          seen.moved += Number(driverIn(next, node).id !== before.id);
        });
        for (const [made, offers] of [
          [base, offering],
          [next, later],
        ] as const)
          for (const { driver, server } of nfInstances(made.graph)) {
            if (driver !== 'container') continue;
            seen.containers++;
            expect(offers).toContain(server);
          }
        const both = nodesIn('prepare', base.nodes, next.nodes, new Set(next.abandoned));
        const ids = Object.values(both).flatMap(({ instances }) => instances.map(({ id }) => id));
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { numRuns: 200, seed: 5 },
    );
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(20);
  });

  it('is the plan without containers, to the byte, where nobody offers or asks for them', () => {
    const cost = fc.record({ cycles: fc.constantFrom(1, 1000, 1e6), base_latency_us: fc.constantFrom(0, 60) });
    const drawn = fc.tuple(cost, strategies, fc.constantFrom(5, 100, 1e6), fc.constantFrom(1e6, 2e9), fc.boolean());
    fc.assert(
      fc.property(drawn, ([container, strategy, max_us, rate_bps, onBoard]) => {
        const boards = [board('board-1', 'server-1')];
        const infrastructure = { ...rack({ servers: 3, ghz: 1, cores: 4 }), boards: onBoard ? boards : [] };
        const plain = withBoard(descriptor('nf'), 5000);
        const about = { nodes: NODES, options: { strategy }, max_us, rate_bps, infrastructure, container_servers: [] };
        const [without, beside] = [plain, withContainer(plain, container)].map((nf) => {
          const base = plan({ ...about, nf });
          return [base, plan({ ...about, nf, base: base.feasible ? base : null })];
        });
        expect(JSON.stringify(beside)).toBe(JSON.stringify(without));
      }),
      { numRuns: 100, seed: 6 },
    );
  });
});
