import { nfInstances } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makePlan } from '../plan/make-plan.js';
import { board, withBoard } from '../testing/boards.js';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';

const BOARD = board('board-1', 'server-1');
const software = descriptor('sqli', { cycles: 200_000 });
const both = (lut: number) => withBoard(software, lut);

const reasonFor = (nf: typeof software, max_us: number, boards = [BOARD]) => {
  const definition = chainOf(
    { s: 'sqli' },
    [
      ['in', 's'],
      ['s', 'out'],
    ],
    {
      rate_bps: 1e6,
      slos: [{ id: 'fast', kind: 'latency', percentile: 99, max_us }],
    },
  );
  const plan = makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [{ chain_id: 'p-1', version: 1, definition }],
    descriptors: [nf],
    infrastructure: { ...rack({ servers: 1, ghz: 1 }), boards },
    base: null,
    budget: { steps: 1 },
  });
  expect(plan.feasible).toBe(true);
  return plan.reasons.find(({ part }) => part === 'infrastructure');
};

describe('on what an NF should run', () => {
  it('is software while it meets every requirement (HYPER Figure 2)', () => {
    expect(reasonFor(both(5000), 1000)).toMatchObject({ subject: 'p.s', decision: 'software on server-1' });
    expect(reasonFor(software, 1000)).toBeUndefined();
  });

  it('is a board where software is too slow, and says what software lacks', () => {
    const reason = reasonFor(both(5000), 100)!;
    expect(reason.decision).toBe('board on board-1 slot 0');
    expect(reason.candidates[0]).toMatchObject({
      name: 'software on server-1',
      feasible: false,
      constraint: { constraint: 'latency', needed: 205, available: 100, unit: 'us', where: 'server-1' },
    });
  });

  it('is nothing where the board lacks room too, with the fewest limits that conflict', () => {
    const reason = reasonFor(both(20_000), 100)!;
    expect(reason.decision).toBe('nothing meets every requirement');
    expect(reason.candidates.map(({ constraint }) => constraint?.constraint)).toEqual(['latency', 'capacity']);
    expect(reasonFor(software, 100, [])!.constraint).toMatchObject({ constraint: 'latency', needed: 205 });
  });

  it('is several servers that share the traffic where none carries all of it', () => {
    const definition = chainOf(
      { s: 'sqli' },
      [
        ['in', 's'],
        ['s', 'out'],
      ],
      { rate_bps: 6e7 },
    );
    const plan = makePlan({
      id: 'plan',
      created_ms: 0,
      chains: [{ chain_id: 'p-1', version: 1, definition }],
      descriptors: [both(5000)],
      infrastructure: { ...rack({ servers: 4, cores: 1, ghz: 1 }), boards: [] },
      base: null,
      budget: { steps: 1 },
    });
    expect(plan.feasible).toBe(true);
    const servers = nfInstances(plan.graph).map(({ server }) => server);
    expect(servers.length).toBeGreaterThan(1);
    const reason = plan.reasons.find(({ part }) => part === 'infrastructure')!;
    for (const server of servers) expect(reason.decision).toContain(server);
    expect(reason.constraint).toBeNull();
    expect(reason.candidates.filter(({ chosen }) => chosen).map(({ feasible }) => feasible)).toEqual(
      servers.map(() => true),
    );
  });

  it('is told with the servers that placement chose, wherever they are', () => {
    const counts = fc.record({
      servers: fc.integer({ min: 1, max: 4 }),
      others: fc.nat(6),
      mbps: fc.integer({ min: 1, max: 120 }),
    });
    fc.assert(
      fc.property(counts, ({ servers, others, mbps }) => {
        // Other chains fill the first servers, so that the NF comes to lie on another one than the tree proposes.
        const own = (index: number, rate_bps: number) =>
          ({ name: `chain-${index}`, rate_bps, match: [['ip.dst', 'is', `10.9.${index}.0/24`]] }) satisfies Parameters<
            typeof chainOf
          >[2];
        const filler = (index: number) =>
          chainOf(
            { f: 'filler' },
            [
              ['in', 'f'],
              ['f', 'out'],
            ],
            own(index, 5e6),
          );
        const asked = chainOf(
          { s: 'sqli' },
          [
            ['in', 's'],
            ['s', 'out'],
          ],
          own(others, mbps * 1e5),
        );
        const definitions = [...Array.from({ length: others }, (_, index) => filler(index)), asked];
        const plan = makePlan({
          id: 'plan',
          created_ms: 0,
          chains: definitions.map((definition, index) => ({ chain_id: `c-${index}`, version: 1, definition })),
          descriptors: [both(5000), descriptor('filler', { cycles: 1_000_000 })],
          infrastructure: { ...rack({ servers, cores: 2, ghz: 1 }), boards: [] },
          base: null,
          budget: { steps: 50 },
        });
        expect(plan.problems).toEqual([]);
        if (!plan.feasible) return;
        const running = nfInstances(plan.graph).filter(({ node_id }) => node_id === 's');
        const subject = running[0]?.pgraph_node;
        const reason = plan.reasons.find((each) => each.part === 'infrastructure' && each.subject === subject);
        const places = [...new Set(running.map(({ server }) => `software on ${server}`))].sort();
        const chosen = reason?.candidates
          .filter((each) => each.chosen)
          .map(({ name }) => name)
          .sort();
        expect(chosen).toEqual(places);
        for (const { server } of running) expect(reason?.decision).toContain(server);
      }),
      { numRuns: 40 },
    );
  });
});
