import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { BadProblem } from '../bad-problem.js';
import type { Solver } from '../solver/linear-model.js';
import { arbitraryAccelerators, brokenBy, type ItemMix, leastCost, mixedDemands } from '../testing/accelerators.js';
import { Clock, timedBy, unhurried } from '../testing/clock.js';
import { testSolver } from '../testing/highs.js';
import { certifyPacking } from './certify.js';
import { bestContent } from './knapsack.js';
import { holds, modelOf } from './model.js';
import { packOffline } from './pack.js';

let solve: Solver;
beforeAll(async () => {
  solve = await testSolver();
});

const PLENTY = unhurried(400_000);

describe('certifyPacking', () => {
  it('never bounds above the least cost, stopped early or not, and polishes a poor packing', async () => {
    const seen = { raised: 0, polished: 0, certified: 0 };
    await fc.assert(
      fc.asyncProperty(arbitraryAccelerators(7), fc.constantFrom('time', 'steps', 'nothing'), async (problem, ends) => {
        const least = leastCost(problem);
        const poor = packOffline(problem, { strategy: 'first-fit', seed: 1, budget: { steps: 1000 } });
        fc.pre(least !== null && poor.status === 'packed');
        const budget = ends === 'time' ? timedBy(new Clock(5), 10_000) : unhurried(ends === 'steps' ? 3 : 10_000);
        const better = await certifyPacking(problem, poor, solve, budget);
        expect(better.lower_bound).toBeLessThanOrEqual(least! + 1e-9);
        expect(better.lower_bound).toBeGreaterThanOrEqual(poor.lower_bound - 1e-9);
        expect(better.cost).toBeGreaterThanOrEqual(least! - 1e-9);
        expect(better.cost).toBeLessThanOrEqual(poor.cost);
        expect(brokenBy(problem, better.devices)).toEqual([]);
        if (better.lower_bound > poor.lower_bound + 1e-9) seen.raised++;
        if (better.cost < poor.cost) seen.polished++;
        if (better.gap === 0) seen.certified++;
      }),
      { numRuns: 500, seed: 23 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(20);
  });

  it('comes within one device of the bound on mixes of 50 and 100', async () => {
    for (const mix of ['quarter-to-half', 'anti-correlated', 'uniform'] satisfies ItemMix[]) {
      for (const n of [50, 100]) {
        const problem = mixedDemands(mix, n, 1);
        const packed = packOffline(problem, { strategy: 'bin-completion', seed: 1, budget: { steps: 2_000_000 } });
        const certified = await certifyPacking(problem, packed, solve, PLENTY);
        expect(certified.cost - certified.lower_bound).toBeLessThanOrEqual(1);
        expect(brokenBy(problem, certified.devices)).toEqual([]);
      }
    }
  });

  it('keeps the dimension bound without a solver, and refuses what is no packing', async () => {
    const problem = mixedDemands('quarter-to-half', 30, 1);
    const packed = packOffline(problem, { strategy: 'ffd', seed: 1, budget: { steps: 1 } });
    expect(await certifyPacking(problem, packed, null, PLENTY)).toEqual(packed);
    const torn = { ...packed, devices: packed.devices.slice(1) };
    await expect(certifyPacking(problem, torn, solve, PLENTY)).rejects.toThrow(BadProblem);
    const twice = { ...packed, devices: [...packed.devices, packed.devices[0]!] };
    await expect(certifyPacking(problem, twice, solve, PLENTY)).rejects.toThrow(BadProblem);
  });
});

describe('bestContent', () => {
  it('is worth as much as the best of all sets, and no set exceeds its upper figure when stopped', () => {
    fc.assert(
      fc.property(
        arbitraryAccelerators(9),
        fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 9, maxLength: 9 }),
        fc.constantFrom(0, 3, 10, 1e6),
        (problem, worth, limit) => {
          const model = modelOf(problem);
          let most = 0;
          for (let set = 0; set < 2 ** model.n; set++) {
            const demands = Array.from({ length: model.n }, (_, i) => i).filter((i) => (set >> i) & 1);
            if (holds(model, 0, demands))
              most = Math.max(
                most,
                demands.reduce((sum, i) => sum + worth[i]!, 0),
              );
          }
          const answer = bestContent(model, 0, worth, { steps: limit });
          expect(holds(model, 0, answer.demands)).toBe(true);
          expect(answer.upper).toBeGreaterThanOrEqual(most - 1e-9);
          if (limit === 1e6) expect(answer.value).toBeCloseTo(most, 9);
        },
      ),
      { numRuns: 600 },
    );
  });
});
