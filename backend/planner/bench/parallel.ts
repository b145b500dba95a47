import {
  buildSpg,
  certifyProvisioning,
  type ProvisioningProblem,
  type ProvisionStrategy,
  provision,
  type Solver,
  type SpgStrategy,
  seededRandom,
  timedBudget,
} from '@orrery/planner';
import { dependent } from '../src/testing/parallel.js';
import { randomProvisioning } from '../src/testing/provisioning.js';
import { cpuMs, type Figure, mean, seeds, sized } from './measure.js';

/** Moves of the annealing. */
const STEPS = sized(60_000, 500);

/** A chain whose NFs take 1 to 10 us and of which one pair in four depends on each other. */
function randomChain(nfs: number, seed: number) {
  const random = seededRandom(seed);
  const latencies = Array.from({ length: nfs }, () => 1 + 9 * random());
  const pairs: [number, number][] = [];
  for (let a = 0; a < nfs; a++) for (let b = a + 1; b < nfs; b++) if (random() < 0.25) pairs.push([a, b]);
  return dependent(latencies, pairs);
}

/** Parallel forms of random chains and their instances over servers (HydraNF 6.4). */
export async function parallelFigures(solver: Solver): Promise<Figure[]> {
  const chains = seeds(20).map((seed) => randomChain(sized(10, 5), seed));
  const build = (strategy: SpgStrategy) =>
    chains.map((it) => buildSpg(it, { strategy, seed: 1, budget: { steps: 500 }, threshold: 0 }));
  const [ours, parabox] = [build('orrery'), build('parabox')];
  const sequential = mean(ours.map(({ sequential_us }) => sequential_us));
  const critical = mean(ours.map(({ critical_path }) => critical_path.latency_us));
  const bins = (strategy: SpgStrategy) => mean(build(strategy).map(({ packing }) => packing!.bins.length));
  const ten = chains[0]!;
  const thirteen = randomChain(sized(13, 6), 1);
  return [
    {
      name: 'HydraNF latency, 10 NFs, to sequential',
      value: mean(ours.map(({ latency_us }) => latency_us)),
      unit: 'us',
      better: 'lower',
      baseline: sequential,
    },
    {
      name: 'HydraNF latency, 10 NFs, to critical path',
      value: mean(ours.map(({ latency_us }) => latency_us)),
      unit: 'us',
      better: 'lower',
      baseline: critical,
    },
    {
      name: 'HydraNF latency, 10 NFs, to ParaBox',
      value: mean(ours.map(({ latency_us }) => latency_us)),
      unit: 'us',
      better: 'lower',
      baseline: mean(parabox.map(({ latency_us }) => latency_us)),
    },
    {
      name: 'HydraNF graphs proven fastest',
      value: (100 * ours.filter(({ proven }) => proven).length) / ours.length,
      unit: '%',
      better: 'higher',
      bar: 100,
    },
    {
      name: 'HydraNF bins, exact, to first fit',
      value: bins('fewest-bins'),
      unit: 'bins',
      better: 'lower',
      bar: bins('first-fit'),
      baseline: bins('first-fit'),
    },
    {
      name: 'HydraNF bins, genetic, to first fit',
      value: bins('genetic'),
      unit: 'bins',
      better: 'lower',
      baseline: bins('first-fit'),
    },
    {
      name: 'HydraNF copies, to ParaBox',
      value: mean(ours.map(({ copies }) => copies)),
      unit: 'copies',
      better: 'lower',
      baseline: mean(parabox.map(({ copies }) => copies)),
    },
    {
      name: 'HydraNF 10 NFs',
      value: cpuMs(() => buildSpg(ten, { strategy: 'orrery', seed: 1, budget: { steps: 500 } })),
      unit: 'ms',
      better: 'lower',
    },
    {
      name: 'HydraNF 13 NFs',
      value: cpuMs(() => buildSpg(thirteen, { strategy: 'orrery', seed: 1, budget: { steps: 500 } })),
      unit: 'ms',
      better: 'lower',
    },
    ...(await provisioningFigures(solver)),
  ];
}

async function provisioningFigures(solver: Solver): Promise<Figure[]> {
  const problems = seeds(10).map((seed) => randomProvisioning(6, 4, seededRandom(seed)));
  const overhead = (problem: ProvisioningProblem, strategy: ProvisionStrategy) => {
    const found = provision(problem, { strategy, seed: 1, budget: { steps: STEPS } });
    return found.feasible ? found.overhead_bits : null;
  };
  const rows: { ours: number; greedy: number; random: number; least: number }[] = [];
  for (const problem of problems) {
    const found = provision(problem, { strategy: 'annealing', seed: 1, budget: { steps: STEPS } });
    const [greedy, random] = [overhead(problem, 'greedy'), overhead(problem, 'random')];
    if (!found.feasible || greedy === null || random === null) continue;
    const end_ms = performance.now() + sized(20_000, 2_000);
    const budget = timedBudget(0, () => (end_ms - performance.now()) / 1000);
    const exact = await certifyProvisioning(problem, found, solver, budget);
    if (!exact.feasible) continue;
    rows.push({ ours: found.overhead_bits, greedy, random, least: exact.lower_bound_bits });
  }
  const sum = (key: 'ours' | 'greedy' | 'random' | 'least') => mean(rows.map((row) => row[key])) / 1e6;
  const large = randomProvisioning(sized(20, 4), sized(12, 3), seededRandom(1));
  return [
    {
      name: 'HydraNF overhead, 6 NFs x 4, to greedy',
      value: sum('ours'),
      unit: 'Mb under way',
      better: 'lower',
      bar: 0.6 * sum('greedy'),
      baseline: sum('greedy'),
    },
    {
      name: 'HydraNF overhead, 6 NFs x 4, to random',
      value: sum('ours'),
      unit: 'Mb under way',
      better: 'lower',
      baseline: sum('random'),
    },
    {
      name: 'HydraNF overhead, 6 NFs x 4, to the bound',
      value: sum('ours'),
      unit: 'Mb under way',
      better: 'lower',
      bar: 1.05 * sum('least'),
      baseline: sum('least'),
    },
    {
      name: 'HydraNF provisioning, 20 NFs x 12',
      value: cpuMs(() => provision(large, { strategy: 'annealing', seed: 1, budget: { steps: STEPS } })),
      unit: 'ms',
      better: 'lower',
    },
  ];
}
