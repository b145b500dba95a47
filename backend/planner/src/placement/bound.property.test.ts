import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';

import { ModelBuilder, type Solver } from '../solver/linear-model.js';
import { testSolver } from '../testing/highs.js';
import { randomIGraph } from '../testing/igraphs.js';
import { arbitraryProblem, BUDGET, bestCut, cutOf, withHosts } from '../testing/placements.js';
import { boundPlacement } from './bound.js';
import { searchExactly } from './exact.js';
import { place } from './place.js';
import type { PlacementProblem } from './problem.js';
import { spectralBound } from './spectral-bound.js';

let solve: Solver;
beforeAll(async () => {
  solve = await testSolver();
});

const run = (problem: PlacementProblem, steps: number) =>
  place(problem, { strategy: 'e2', seed: 1, budget: { steps }, pinned: problem.items.map(() => null) });

/** The least cut under whole cores for large items, by a model of its own: 1 where an item stands, 1 where a flow crosses. */
function cutModel({ items, flows, bins }: PlacementProblem): ModelBuilder {
  const model = new ModelBuilder();
  const stands = items.map(() => bins.map(() => model.binary()));
  for (const row of stands)
    model.row(
      row.map((column) => [column, 1] as const),
      { lower: 1, upper: 1 },
    );
  bins.forEach((bin, b) => {
    const use = (of: (item: PlacementProblem['items'][number]) => number) =>
      items.map((item, i) => [stands[i]![b]!, of(item)] as const);
    model.row(
      use(({ cycles_per_second }) => cycles_per_second / 1e9),
      { upper: (bin.cores * bin.hz * BUDGET) / 1e9 },
    );
    model.row(
      use(({ cycles_per_second }) => Number(cycles_per_second > (bin.hz * BUDGET) / 2)),
      { upper: bin.cores },
    );
  });
  for (const { from, to, rate_bps } of flows) {
    const crosses = model.column({ cost: rate_bps / 1e6, upper: 1 });
    bins.forEach((_, b) => {
      model.row(
        [
          [stands[from]![b]!, 1],
          [stands[to]![b]!, -1],
          [crosses, -1],
        ],
        { upper: 0 },
      );
    });
  }
  return model;
}

describe('bounds of cross traffic', () => {
  it('lie at or below the best cut of every small problem, and the exact one meets it where only sums bind', () => {
    const seen = { solved: 0, exact: 0, spectral: 0 };
    fc.assert(
      fc.property(arbitraryProblem(6, 3), (problem) => {
        const best = bestCut(problem);
        fc.pre(best !== null && best > 0);
        seen.solved++;
        const spectral = spectralBound(problem, best!, { steps: 20 });
        expect(spectral).toBeLessThanOrEqual(best!);
        if (spectral > 0) seen.spectral++;
        const { complete, lower_bound_bps } = searchExactly(problem, best! + 1, { steps: 1e6 });
        expect(complete).toBe(true);
        expect(lower_bound_bps).toBeLessThanOrEqual(best! + 1e-6);
        if (lower_bound_bps > best! - 1e-6) seen.exact++;
      }),
      { numRuns: 1500, seed: 3 },
    );
    expect(seen.solved).toBeGreaterThan(100);
    expect(seen.spectral / seen.solved).toBeGreaterThan(0.1);
    expect(seen.exact / seen.solved).toBeGreaterThan(0.3);
  });

  it('are met by the exact one where only hosts and memory bind, on servers that are alike', () => {
    const alike = arbitraryProblem(6, 3).map(({ items, flows, bins }): PlacementProblem => {
      const memory_bytes = bins[0]!.memory_bytes;
      return {
        items: items.map((item) => ({ ...item, cycles_per_second: 1, outside_in_bps: 0, outside_out_bps: 0 })),
        flows,
        bins: bins.map((bin) => ({ ...bin, cores: 1, hz: 1e9, memory_bytes, link_bps: 1e12 })),
        table: { fixed: 0, available: 100, where: 'switch-1' },
      };
    });
    let solved = 0;
    fc.assert(
      fc.property(alike.chain(withHosts), (problem) => {
        const best = bestCut(problem);
        const found = searchExactly(problem, Number.POSITIVE_INFINITY, { steps: 1e6 });
        expect(found.complete).toBe(true);
        expect(found.better && cutOf(problem.flows, found.better)).toBe(best);
        if (best) solved++;
      }),
      { numRuns: 500, seed: 4 },
    );
    expect(solved).toBeGreaterThan(50);
  });

  it('prove the optimum of 20 instances, which HiGHS finds too (E2 3.6.2)', async () => {
    for (const seed of [1, 2, 3, 4]) {
      const problem = randomIGraph(20, seed);
      const placement = run(problem, 200);
      expect(placement.feasible).toBe(true);
      const { cut_bps: cut } = placement;
      const bound = boundPlacement(problem, cut, { steps: 1e6, spectral_steps: 1 });
      expect(bound).toEqual({ lower_bound_bps: cut, method: 'branch and bound' });
      const exact = await solve(cutModel(problem), { time_limit_s: 20 });
      expect(exact.status).toBe('optimal');
      expect(exact.objective! * 1e6).toBeCloseTo(cut, -2);
    }
  });

  it('come within a factor of three of 60 instances, which nobody solves exactly', () => {
    for (const seed of [1, 2, 3]) {
      const problem = randomIGraph(60, seed);
      const { cut_bps: cut } = run(problem, 300);
      const bound = boundPlacement(problem, cut, { steps: 0, spectral_steps: 60 });
      expect(bound.method).toBe('eigenvalues');
      expect(bound.lower_bound_bps).toBeLessThan(cut);
      expect(bound.lower_bound_bps).toBeGreaterThan(cut / 3);
    }
  });

  it('are nothing to prove where nothing crosses', () => {
    const budget = { steps: 10, spectral_steps: 1 };
    expect(boundPlacement(randomIGraph(20, 1), 0, budget)).toEqual({ lower_bound_bps: 0, method: 'nothing crosses' });
  });
});
