import { type Mode, planSchedule, type ScheduleProblem, type StrategyName } from '@orrery/planner';
import { binaryTree, randomTree, withRatios } from '../src/testing/schedules.js';
import { cpuMs, type Figure, fittedExponent, mean, seeds, sized } from './measure.js';

const COSTS = { queue_cycles_per_packet: 0.4, classifier_cycles_per_packet: 0.6 };

function schedule(problem: ScheduleProblem, strategy: StrategyName = 'alpine', mode: Mode = 'free') {
  const found = planSchedule(problem, { strategy, mode, budget: { steps: 200_000 } });
  if (!found.feasible) throw new Error('the free mode always has a schedule');
  return found;
}

/** Whether the constrained mode, the product's default, has a schedule. */
function possibleWithoutPolling(problem: ScheduleProblem): boolean {
  return planSchedule(problem, { strategy: 'alpine', mode: 'constrained', budget: { steps: 200_000 } }).feasible;
}

/** Trees with CPU-time ratios between all classes (Alpine 5.5). */
export function scheduleFigures(): Figure[] {
  const eight = seeds(20).map((seed) => withRatios(randomTree(seed, 8, false), 'cpu-time'));
  const large = binaryTree(sized(9, 4), 1);
  const found = eight.map((it) => schedule(it));
  const times = eight.map((it) => cpuMs(() => schedule(it), 20));
  const big = schedule(large);
  const eighteen = seeds(10).map((seed) => withRatios(randomTree(seed, sized(18, 9), true), 'cpu-time'));
  const growth = sized([3, 5, 7, 9], [2, 3]).map((depth) => {
    const tree = binaryTree(depth, 1);
    return [2 ** (depth + 1) - 1, cpuMs(() => schedule(tree), 100)] as const;
  });
  const costly = eight.map((it) => ({ ...it, costs: COSTS }));
  const throughput = (strategy: StrategyName) =>
    mean(costly.map((it) => schedule(it, strategy).prediction.throughput_pps));
  const ours = throughput('alpine');
  return [
    { name: 'Alpine 8 modules, free mode, mean', value: mean(times), unit: 'ms', better: 'lower', bar: 10 },
    { name: 'Alpine 8 modules, free mode, worst', value: Math.max(...times), unit: 'ms', better: 'lower', bar: 100 },
    {
      name: 'Alpine 8 modules, SLO error, worst',
      value: 100 * Math.max(...found.map(({ prediction }) => prediction.slo_error)),
      unit: '%',
      better: 'lower',
      bar: 1,
    },
    {
      name: 'Alpine 8 modules, proven fewest tasks',
      value: (100 * found.filter(({ bound }) => bound.proven_optimal).length) / found.length,
      unit: '%',
      better: 'higher',
      bar: 100,
    },
    {
      name: 'Alpine 18 modules, mean',
      value: mean(eighteen.map((it) => cpuMs(() => schedule(it), 20))),
      unit: 'ms',
      better: 'lower',
    },
    {
      name: 'Alpine 18 modules, proven fewest tasks',
      value: (100 * eighteen.filter((it) => schedule(it).bound.proven_optimal).length) / eighteen.length,
      unit: '%',
      better: 'higher',
      bar: 100,
    },
    { name: 'Alpine 1,023 modules', value: cpuMs(() => schedule(large)), unit: 'ms', better: 'lower', bar: 50 },
    {
      name: 'Alpine 1,023 modules, tasks to bound',
      value: big.bound.tasks,
      unit: 'tasks',
      better: 'lower',
      baseline: big.bound.lower_bound,
    },
    { name: 'Alpine growth, exponent of modules', value: fittedExponent(growth), unit: '', better: 'lower' },
    {
      name: 'Alpine throughput, 8 modules, to manual',
      value: ours,
      unit: 'packets/s',
      better: 'higher',
      baseline: throughput('manual'),
    },
    {
      name: 'Alpine throughput, 8 modules, to semi-manual',
      value: ours,
      unit: 'packets/s',
      better: 'higher',
      baseline: throughput('semi-manual'),
    },
    {
      name: 'Alpine 8 modules, possible without polling',
      value: (100 * eight.filter((it) => possibleWithoutPolling(it)).length) / eight.length,
      unit: '%',
      better: 'higher',
    },
    {
      name: 'Alpine idle cycles, 8 modules',
      value:
        100 *
        mean(
          found.map(
            ({ prediction: p }) => p.idle_cycles_per_second / (p.idle_cycles_per_second + p.useful_cycles_per_second),
          ),
        ),
      unit: '%',
      better: 'lower',
    },
  ];
}
