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
});
