import { certifyPacking } from '../src/accelerator/certify.js';
import { DEFAULT_PACK_BUDGET, type PackStrategy, packOffline } from '../src/accelerator/pack.js';
import type { AcceleratorProblem } from '../src/accelerator/problem.js';
import type { Solver } from '../src/solver/linear-model.js';
import { ITEM_MIXES, type ItemMix, mixedDemands } from '../src/testing/accelerators.js';
import { cpuMs, type Figure, mean, seeds } from './measure.js';

const MIXES = Object.keys(ITEM_MIXES) as ItemMix[];

function pack(problem: AcceleratorProblem, strategy: PackStrategy) {
  const packed = packOffline(problem, { strategy, seed: 1, budget: DEFAULT_PACK_BUDGET });
  if (packed.status !== 'packed') throw new Error('the demands must fit');
  return packed;
}

/** Devices for demands in two dimensions (HYPER VII-D), ours beside first-fit decreasing on the same demands. */
export async function packingFigures(solver: Solver): Promise<Figure[]> {
  const ratios = [100, 500].flatMap((n) =>
    MIXES.map((mix): Figure => {
      const problems = seeds(3).map((seed) => mixedDemands(mix, n, seed));
      const devices = (strategy: PackStrategy) => mean(problems.map((it) => pack(it, strategy).devices.length));
      const baseline = devices('ffd');
      const bar = mix === 'uniform' ? { bar: 0.87 * baseline } : {};
      return {
        name: `HYPER devices, ${n} ${mix}`,
        value: devices('bin-completion'),
        unit: 'devices',
        better: 'lower',
        baseline,
        ...bar,
      };
    }),
  );
  const above: number[] = [];
  for (const mix of MIXES) {
    for (const seed of seeds(2)) {
      const problem = mixedDemands(mix, 100, seed);
      const packed = await certifyPacking(problem, pack(problem, 'bin-completion'), solver);
      above.push(packed.status === 'packed' ? packed.devices.length - packed.lower_bound : Number.NaN);
    }
  }
  const large = mixedDemands('uniform', 500, 1);
  return [
    ...ratios,
    {
      name: 'HYPER devices above the bound, worst of 100',
      value: Math.max(...above),
      unit: 'devices',
      better: 'lower',
      bar: 1,
    },
    {
      name: 'HYPER packing of 500',
      value: cpuMs(() => pack(large, 'bin-completion')) / 1000,
      unit: 's',
      better: 'lower',
      bar: 2,
    },
  ];
}
