import { beforeAll, describe, expect, it } from 'vitest';
import { testSolver } from '../testing/highs.js';
import { ModelBuilder, type Solver } from './linear-model.js';

let solve: Solver;
beforeAll(async () => {
  solve = await testSolver();
});

const LIMITS = { time_limit_s: 10 };

/** min 3x + 2y with x + y >= 2.5, 0 <= x <= 10, 0 <= y <= 1 */
function small(integer: boolean): ModelBuilder {
  const model = new ModelBuilder();
  const x = model.column({ cost: 3, upper: 10, integer });
  const y = model.column({ cost: 2, upper: 1 });
  model.row(
    [
      [x, 1],
      [y, 1],
    ],
    { lower: 2.5 },
  );
  return model;
}

describe('solveWithHighs', () => {
  it('solves a linear model and gives the price of each row', async () => {
    const solution = await solve(small(false), LIMITS);
    expect(solution).toMatchObject({ status: 'optimal', objective: 6.5, bound: 6.5 });
    expect([...solution.values]).toEqual([1.5, 1]);
    expect([...solution.duals]).toEqual([3]);
  });

  it('solves a mixed-integer model and proves it', async () => {
    const solution = await solve(small(true), LIMITS);
    expect(solution).toMatchObject({ status: 'optimal', objective: 7, bound: 7 });
    expect([...solution.values]).toEqual([2, 0.5]);
  });

  it('says what has no solution and what has no least one', async () => {
    const impossible = small(true);
    impossible.row([[0, 1]], { lower: 11 });
    expect((await solve(impossible, LIMITS)).status).toBe('infeasible');
    const endless = new ModelBuilder();
    endless.column({ cost: -1 });
    expect((await solve(endless, LIMITS)).status).toBe('unbounded');
  });

  it('takes a model without variables', async () => {
    const nothing = new ModelBuilder();
    nothing.row([], { upper: 1 });
    expect((await solve(nothing, LIMITS)).status).toBe('optimal');
    nothing.row([], { lower: 1 });
    expect((await solve(nothing, LIMITS)).status).toBe('infeasible');
  });

  it('stops at its limit with a bound below what it found', async () => {
    const model = new ModelBuilder();
    // Market split (Cornuejols and Dawande 1998): small, and no solver closes it soon.
    const slacks = Array.from({ length: 5 }, () => [model.column({ cost: 1 }), model.column({ cost: 1 })] as const);
    const items = Array.from({ length: 40 }, () => model.binary());
    slacks.forEach(([over, under], row) => {
      const weights = items.map((_, i) => ((i + 7) * (row + 3) * 7919) % 100);
      const half = Math.floor(weights.reduce((a, b) => a + b, 0) / 2);
      model.row([...items.map((it, i) => [it, weights[i]!] as const), [over, 1], [under, -1]], {
        lower: half + 0.5,
        upper: half + 0.5,
      });
    });
    const solution = await solve(model, { time_limit_s: 0.5 });
    expect(solution.status).toBe('feasible');
    expect(solution.bound!).toBeLessThanOrEqual(solution.objective!);
  });
});
