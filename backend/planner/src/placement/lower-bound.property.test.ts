import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUDGET, bestCut } from '../testing/placements.js';
import { crossTrafficBound } from './lower-bound.js';
import type { PlacementProblem } from './problem.js';

/** Dense traffic over equal servers of `cores` cores, without other limits: the processor alone forces a cut. */
const tight = fc
  .record({
    sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 6 }),
    flows: fc.array(fc.tuple(fc.nat(5), fc.nat(5), fc.integer({ min: 1, max: 9 })), { minLength: 1, maxLength: 12 }),
    bins: fc.integer({ min: 2, max: 3 }),
  })
  .map(
    ({ sizes, flows, bins }): PlacementProblem => ({
      items: sizes.map((size, i) => ({
        id: `i${i}`,
        cycles_per_second: (size / 4) * BUDGET * 1e9,
        memory_bytes: 0,
        outside_in_bps: 0,
        outside_out_bps: 0,
      })),
      flows: flows
        .filter(([from, to]) => from !== to && Math.max(from, to) < sizes.length)
        .map(([from, to, rate_bps]) => ({ from, to, rate_bps })),
      bins: Array.from({ length: bins }, (_, b) => ({
        id: `b${b}`,
        cores: 2,
        hz: 1e9,
        memory_bytes: 1,
        link_bps: 1e9,
        link_constraint: 'nic-bandwidth' as const,
      })),
      table: { fixed: 0, available: 1000, where: 'switch-1' },
    }),
  );

describe('crossTrafficBound', () => {
  it('never exceeds the best cut, is often above zero, and sometimes meets it', () => {
    const seen = { forced: 0, bounded: 0, met: 0 };
    fc.assert(
      fc.property(tight, (problem) => {
        const best = bestCut(problem);
        fc.pre(best !== null);
        const bound = crossTrafficBound(problem);
        expect(bound).toBeLessThanOrEqual(best!);
        if (best! > 0) seen.forced++;
        if (bound > 0) seen.bounded++;
        if (best! > 0 && bound > best! * 0.999) seen.met++;
      }),
      { numRuns: 1500, seed: 5 },
    );
    expect(seen.forced).toBeGreaterThan(100);
    expect(seen.bounded / seen.forced).toBeGreaterThan(0.6);
    expect(seen.met).toBeGreaterThan(20);
  });

  it('is the light edge of a chain that cannot stay whole', () => {
    const [problem] = fc.sample(tight, 1);
    const chain = {
      ...problem!,
      items: [3, 3, 3].map((size, i) => ({
        ...problem!.items[0]!,
        id: `c${i}`,
        cycles_per_second: (size / 4) * BUDGET * 1e9,
      })),
    };
    const flows = [
      { from: 0, to: 1, rate_bps: 5 },
      { from: 1, to: 2, rate_bps: 2 },
    ];
    expect(crossTrafficBound({ ...chain, flows })).toBeCloseTo(2, 6);
  });
});
