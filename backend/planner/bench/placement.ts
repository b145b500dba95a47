import type { PlanStrategy } from '@orrery/contract';
import { boundPlacement, type PlacementProblem, place } from '@orrery/planner';
import { randomIGraph } from '../src/testing/igraphs.js';
import { cpuMs, type Figure, fittedExponent, mean, seeds, sized } from './measure.js';

/** Descents of the search: with so many a placement of 100 instances stays below 2 ms. */
const STEPS = 25;
const SIZES = sized([20, 50, 100, 200, 500, 1000], [20, 100, 120]);

function cutOf(problem: PlacementProblem, strategy: PlanStrategy, steps: number): number {
  const placement = place(problem, { strategy, seed: 1, budget: { steps }, pinned: problem.items.map(() => null) });
  if (!placement.feasible) throw new Error('the instances must fit');
  return placement.cut_bps;
}

/** Placement of random instance graphs (E2 3.6.2), ours beside the strawmen on the same graphs. */
export function placementFigures(): Figure[] {
  const hundred = seeds(10).map((seed) => randomIGraph(100, seed));
  const cut = (strategy: PlanStrategy, steps = STEPS) => mean(hundred.map((it) => cutOf(it, strategy, steps)));
  const ours = cut('e2');
  const figures: Figure[] = [
    {
      name: 'E2 cut, 100 instances, to random',
      value: ours / 1e6,
      unit: 'Mb/s',
      better: 'lower',
      bar: (0.6 * cut('random')) / 1e6,
      baseline: cut('random') / 1e6,
    },
    {
      name: 'E2 cut, 100 instances, to packing',
      value: ours / 1e6,
      unit: 'Mb/s',
      better: 'lower',
      bar: (0.8 * cut('packing')) / 1e6,
      baseline: cut('packing') / 1e6,
    },
    {
      name: 'E2 cut, 100 instances, 2,000 descents',
      value: cut('e2', sized(2000, 30)) / 1e6,
      unit: 'Mb/s',
      better: 'lower',
      baseline: ours / 1e6,
    },
    {
      name: 'E2 100 instances, best swaps',
      value: cpuMs(() => cutOf(hundred[0]!, 'e2', 1)),
      unit: 'ms',
      better: 'lower',
      bar: 2,
    },
    {
      name: 'E2 100 instances, 25 descents',
      value: cpuMs(() => cutOf(hundred[0]!, 'e2', STEPS)),
      unit: 'ms',
      better: 'lower',
      bar: 2,
    },
  ];
  return [...figures, ...proofFigures(hundred), incremental(), ...growth()];
}

function proofFigures(hundred: readonly PlacementProblem[]): Figure[] {
  const small = seeds(20).map((seed) => randomIGraph(20, seed));
  const proven = small.filter((problem) => {
    const cut = cutOf(problem, 'e2', 200);
    const { lower_bound_bps } = boundPlacement(problem, cut, { steps: 1e6, spectral_steps: 0 });
    return lower_bound_bps >= cut * (1 - 1e-9);
  });
  const gaps = hundred.slice(0, 3).map((problem) => {
    const cut = cutOf(problem, 'e2', sized(2000, 30));
    return boundPlacement(problem, cut, { steps: 0, spectral_steps: sized(100, 1) }).lower_bound_bps / cut;
  });
  return [
    {
      name: 'E2 20 instances, proven optimal',
      value: (100 * proven.length) / small.length,
      unit: '%',
      better: 'higher',
      bar: 100,
    },
    { name: 'E2 100 instances, bound to cut', value: 100 * mean(gaps), unit: '%', better: 'higher' },
  ];
}

/** One instance is added to 100 that run and stay. */
function incremental(): Figure {
  const problem = randomIGraph(101, 1);
  const running = place(problem, {
    strategy: 'e2',
    seed: 1,
    budget: { steps: 1 },
    pinned: problem.items.map(() => null),
  });
  if (!running.feasible) throw new Error('the instances must fit');
  const pinned = running.places.map((place, i) => (i === 100 ? null : place));
  const value = cpuMs(() => place(problem, { strategy: 'e2', seed: 1, budget: { steps: 1 }, pinned }));
  return { name: 'E2 one more instance beside 100', value, unit: 'ms', better: 'lower', bar: 1.76 };
}

function growth(): Figure[] {
  const points = SIZES.map((n) => {
    const problem = randomIGraph(n, 1);
    return [n, cpuMs(() => cutOf(problem, 'e2', 1), 200)] as const;
  });
  const before = process.memoryUsage().heapUsed;
  const large = randomIGraph(SIZES.at(-1)!, 1);
  const kept = place(large, { strategy: 'e2', seed: 1, budget: { steps: 1 }, pinned: large.items.map(() => null) });
  const heap = (process.memoryUsage().heapUsed - before) / 2 ** 20;
  if (!kept.feasible) throw new Error('the instances must fit');
  return [
    ...points.map(
      ([n, value]): Figure => ({ name: `E2 ${n} instances, one descent`, value, unit: 'ms', better: 'lower' }),
    ),
    {
      name: 'E2 growth, exponent of n from 100',
      value: fittedExponent(points.filter(([n]) => n >= 100)),
      unit: '',
      better: 'lower',
    },
    { name: 'E2 growth, exponent of n, 20 to 1,000', value: fittedExponent(points), unit: '', better: 'lower' },
    { name: 'E2 1,000 instances, heap', value: Math.max(0, heap), unit: 'MiB', better: 'lower' },
  ];
}
