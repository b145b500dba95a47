import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryProblem, BUDGET, bestCut, binsOf, cutOf, overbooked, withHosts } from '../testing/placements.js';
import { searchExactly } from './exact.js';
import { crossTrafficBound } from './lower-bound.js';
import { depthFirstOrder, fillInOrder, pack } from './packing.js';
import { type Placement, place } from './place.js';
import type { PlacementProblem } from './problem.js';
import { PlacementState } from './state.js';

const STRATEGIES = ['e2', 'packing', 'first-fit-decreasing', 'first-fit', 'random'] as const;
const run = (problem: PlacementProblem, options: Partial<Parameters<typeof place>[1]> = {}): Placement =>
  place(problem, {
    strategy: 'e2',
    seed: 1,
    budget: { steps: 300 },
    pinned: problem.items.map(() => null),
    ...options,
  });

describe('place, beside every assignment there is', () => {
  it.each([
    { items: 'all items stand anywhere', problems: arbitraryProblem(6, 3) },
    { items: 'only some servers host some items', problems: arbitraryProblem(6, 3).chain(withHosts) },
  ])(
    'finds one in every small case that has any and nearly always the best, never claims better, never overbooks ($items)',
    ({ problems }) => {
      const seen = { solved: 0, best: 0, impossible: 0, tight: 0 };
      fc.assert(
        fc.property(problems, (problem) => {
          const best = bestCut(problem);
          const placement = run(problem);
          if (!placement.feasible) {
            expect(placement.conflicts.length).toBeGreaterThan(0);
            expect(best).toBeNull();
            seen.impossible++;
            return;
          }
          const bin = binsOf(placement);
          const cut = cutOf(problem.flows, bin);
          expect(overbooked(problem, bin)).toEqual([]);
          expect(placement.cut_bps).toBeCloseTo(cut, 6);
          expect(best).not.toBeNull();
          expect(cut).toBeGreaterThanOrEqual(best!);
          const bound = crossTrafficBound(problem);
          expect(bound).toBeLessThanOrEqual(best!);
          const exact = searchExactly(problem, cut, { steps: 20_000 });
          expect(exact.lower_bound_bps).toBeLessThanOrEqual(best! * (1 + 1e-9));
          seen.solved++;
          if (cut === best) seen.best++;
          if (best! > 0 && bound > 0) seen.tight++;
        }),
        { numRuns: 600, seed: 7 },
      );
      expect(seen.solved).toBeGreaterThan(100);
      expect(seen.impossible).toBeGreaterThan(20);
      expect(seen.tight).toBeGreaterThan(5);
      expect(seen.best / seen.solved).toBeGreaterThan(0.97);
    },
  );

  it('states no traffic below zero, and none where nothing crosses, with rates that do not add up exactly', () => {
    let together = 0;
    fc.assert(
      fc.property(arbitraryProblem(6, 3), fc.array(fc.nat(40), { maxLength: 12 }), (problem, moves) => {
        const flows = problem.flows.map((flow) => ({ ...flow, rate_bps: flow.rate_bps / 7 + 1e-3 }));
        const bins = problem.bins.map((bin) => ({ ...bin, cores: 10, link_bps: 1e12, memory_bytes: 1e12 }));
        const state = new PlacementState(
          { ...problem, flows, bins },
          problem.items.map(() => null),
        );
        for (const move of moves) {
          const item = move % problem.items.length;
          if (state.bin[item]! >= 0) state.remove(item);
          state.tryAdd(item, Math.floor(move / 6) % bins.length);
          expect(state.cut).toBeGreaterThanOrEqual(0);
        }
        const crosses = flows.some(
          ({ from, to }) => Math.min(state.bin[from]!, state.bin[to]!) >= 0 && state.bin[from] !== state.bin[to],
        );
        if (crosses) return;
        expect(state.cut).toBe(0);
        together++;
      }),
      { numRuns: 500, seed: 3 },
    );
    expect(together).toBeGreaterThan(50);
  });

  it('keeps every core within its budget, on the core that it names', () => {
    fc.assert(
      fc.property(arbitraryProblem(12, 4), fc.constantFrom(...STRATEGIES), fc.nat(), (problem, strategy, seed) => {
        const placement = run(problem, { strategy, seed });
        fc.pre(placement.feasible);
        const { places } = placement;
        problem.bins.forEach((server, b) => {
          const load = new Array<number>(server.cores).fill(0);
          problem.items.forEach((item, i) => {
            if (places[i]!.bin === b) load[places[i]!.core]! += item.cycles_per_second / server.hz;
          });
          for (const used of load) expect(used).toBeLessThanOrEqual(BUDGET + 1e-9);
        });
      }),
      { numRuns: 400 },
    );
  });

  it('is never worse than the depth-first packing from which it starts (E2 3.4.1 step 4)', () => {
    let better = 0;
    fc.assert(
      fc.property(arbitraryProblem(16, 4), (problem) => {
        const packed = pack(
          problem,
          problem.items.map(() => null),
          depthFirstOrder(problem),
          fillInOrder,
        );
        fc.pre(packed.stuck === null);
        const placement = run(problem);
        expect(placement.feasible).toBe(true);
        expect(placement.cut_bps).toBeLessThanOrEqual(packed.state.cut + 1e-6);
        if (placement.cut_bps < packed.state.cut - 1e-6) better++;
      }),
      { numRuns: 300 },
    );
    expect(better).toBeGreaterThan(20);
  });

  it('gives the same placement for the same seed, whatever items and servers are called', () => {
    fc.assert(
      fc.property(arbitraryProblem(12, 4), fc.constantFrom(...STRATEGIES), fc.nat(), (problem, strategy, seed) => {
        const renamed = {
          ...problem,
          items: problem.items.map((item, i) => ({ ...item, id: `zz${97 - i}` })),
          bins: problem.bins.map((bin, i) => ({ ...bin, id: `aa${53 - i}` })),
        };
        const [a, b, c] = [problem, problem, renamed].map((it) => run(it, { strategy, seed, budget: { steps: 40 } }));
        expect(b!.places).toEqual(a!.places);
        expect(c!.places).toEqual(a!.places);
      }),
      { numRuns: 150 },
    );
  });

  it('leaves what runs where it runs, on its core, and overbooks nothing beside it', () => {
    let pinnedItems = 0;
    fc.assert(
      fc.property(arbitraryProblem(10, 3), fc.constantFrom(...STRATEGIES), (problem, strategy) => {
        const n = problem.items.length;
        const running = { ...problem, items: problem.items.slice(0, Math.ceil(n / 2)) };
        const before = run({
          ...running,
          flows: problem.flows.filter(({ from, to }) => Math.max(from, to) < running.items.length),
        });
        fc.pre(before.feasible);
        const pinned = problem.items.map((_, i) => (i < running.items.length ? before.places[i]! : null));
        const after = run(problem, { pinned, strategy });
        fc.pre(after.feasible);
        expect(overbooked(problem, binsOf(after))).toEqual([]);
        pinned.forEach((place, i) => {
          if (!place || (after.feasible && after.displaced.includes(i))) return;
          pinnedItems++;
          expect(after.places[i]).toEqual(place);
        });
        if (after.feasible) expect(after.displaced).toEqual([]);
      }),
      { numRuns: 400 },
    );
    expect(pinnedItems).toBeGreaterThan(100);
  });

  it('never crosses more when a server is added', () => {
    fc.assert(
      fc.property(arbitraryProblem(5, 2), (problem) => {
        const best = bestCut(problem);
        fc.pre(best !== null);
        const bins = [...problem.bins, { ...problem.bins[0]!, id: 'more' }];
        expect(bestCut({ ...problem, bins })).toBeLessThanOrEqual(best!);
        const placement = run({ ...problem, bins });
        if (placement.feasible) expect(placement.cut_bps).toBeLessThanOrEqual(best! + 1e-6);
      }),
      { numRuns: 200, seed: 11 },
    );
  });
});
