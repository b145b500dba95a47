import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadProblem } from '../bad-problem.js';
import {
  arbitraryAccelerators,
  brokenBy,
  ITEM_MIXES,
  type ItemMix,
  leastCost,
  mixedDemands,
} from '../testing/accelerators.js';
import { DEFAULT_PACK_BUDGET, PACK_STRATEGIES, type PackStrategy, packOffline } from './pack.js';
import type { AcceleratorProblem } from './problem.js';

const pack = (problem: AcceleratorProblem, strategy: PackStrategy = 'bin-completion', steps = 1_000_000) =>
  packOffline(problem, { strategy, seed: 1, budget: { steps } });

describe('packOffline, beside every packing there is', () => {
  it('finds the least cost, and says that there is none exactly when there is none', () => {
    const seen = { packed: 0, impossible: 0, mixed: 0, exhausted: 0 };
    fc.assert(
      fc.property(arbitraryAccelerators(6), (problem) => {
        const least = leastCost(problem);
        const packed = pack(problem);
        if (least === null) {
          seen.impossible++;
          expect(packed.status).toBe('impossible');
          expect(packed.conflict!.shortages.length).toBeGreaterThan(0);
          return;
        }
        expect(packed.status).toBe('packed');
        expect(brokenBy(problem, packed.devices)).toEqual([]);
        expect(packed.cost).toBeCloseTo(least, 9);
        expect(packed.lower_bound).toBeLessThanOrEqual(least + 1e-9);
        expect(packed.gap).toBe(0);
        seen.packed++;
        if (packed.proof === 'exhaustive search') seen.exhausted++;
        if (new Set(packed.devices.map(({ type }) => type)).size > 1) seen.mixed++;
      }),
      { numRuns: 1500, seed: 3 },
    );
    expect(Math.min(seen.packed, seen.impossible, seen.exhausted, seen.mixed)).toBeGreaterThan(50);
  });

  it('names a minimum conflict of the fewest kinds, each short of something', () => {
    const seen = { one: 0, more: 0 };
    fc.assert(
      fc.property(arbitraryAccelerators(6), (problem) => {
        const { conflict } = pack(problem);
        if (!conflict) return;
        for (const { needed, available } of conflict.shortages) expect(needed).toBeGreaterThan(available);
        if (!conflict.minimum) return;
        const kinds = [...new Set(conflict.shortages.map(({ constraint }) => constraint))];
        seen[kinds.length === 1 ? 'one' : 'more']++;
        if (kinds.some((kind) => kind === 'count')) return;
        expect(leastCost(withOnly(problem, kinds))).toBeNull();
        for (const fewer of kindsOf(problem).flatMap((kind) => (kinds.length > 1 ? [[kind]] : [])))
          expect(leastCost(withOnly(problem, fewer))).not.toBeNull();
      }),
      { numRuns: 600, seed: 31 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(3);
  });

  it('packs the same in any unit of cost', () => {
    fc.assert(
      fc.property(arbitraryAccelerators(8), fc.constantFrom(2 ** -40, 2 ** -33, 2 ** 40), (problem, unit) => {
        const scaled = { ...problem, types: problem.types.map((type) => ({ ...type, cost: type.cost * unit })) };
        const [plain, other] = [pack(problem), pack(scaled)];
        expect(other.status).toBe(plain.status);
        expect(other.cost / unit).toBeCloseTo(plain.cost, 9);
        // Where there is no packing, every bound is one.
        if (plain.status === 'impossible') return;
        expect(other.lower_bound).toBeLessThanOrEqual(Math.max(other.cost, plain.lower_bound * unit) * (1 + 1e-9));
      }),
      { numRuns: 150, seed: 37 },
    );
  });

  it('finds the least cost of eight demands with as many devices as they like', () => {
    fc.assert(
      fc.property(arbitraryAccelerators(8, true), (problem) => {
        const least = leastCost(problem);
        fc.pre(least !== null);
        expect(pack(problem).cost).toBeCloseTo(least!, 9);
      }),
      { numRuns: 300, seed: 5 },
    );
  });

  it('overbooks nothing and stays above the bound, whatever the strategy', () => {
    fc.assert(
      fc.property(arbitraryAccelerators(14, true), fc.constantFrom(...PACK_STRATEGIES), (problem, strategy) => {
        const best = pack(problem, 'bin-completion', 20_000);
        const packed = pack(problem, strategy, 20_000);
        expect(packed.status).toBe(best.status);
        if (packed.status !== 'packed') return;
        expect(brokenBy(problem, packed.devices)).toEqual([]);
        expect(packed.cost).toBeGreaterThanOrEqual(best.lower_bound - 1e-9);
        if (best.gap === 0) expect(packed.cost).toBeGreaterThanOrEqual(best.cost - 1e-9);
      }),
      { numRuns: 600 },
    );
  });

  it('never costs more with one more device, or with more capacity in all', () => {
    fc.assert(
      fc.property(arbitraryAccelerators(7), fc.nat(2), (problem, which) => {
        const before = pack(problem);
        fc.pre(before.status === 'packed');
        const target = which % problem.types.length;
        const counted = problem.types.map((it, t) => (t === target ? { ...it, count: it.count + 1 } : it));
        const larger = problem.types.map((it) => ({ ...it, capacity: it.capacity.map((c) => c + 3) }));
        for (const types of [counted, larger])
          expect(pack({ ...problem, types }).cost).toBeLessThanOrEqual(before.cost + 1e-9);
      }),
      { numRuns: 200 },
    );
  });

  it('depends on the seed alone, whatever devices and demands are called', () => {
    fc.assert(
      fc.property(arbitraryAccelerators(12), fc.constantFrom(...PACK_STRATEGIES), (problem, strategy) => {
        const renamed = {
          ...problem,
          types: problem.types.map((it, t) => ({ ...it, id: `z${9 - t}` })),
          demands: problem.demands.map((it, i) => ({ ...it, id: `a${99 - i}` })),
        };
        const [a, b] = [problem, renamed].map((it) => pack(it, strategy, 50_000));
        expect(b!.devices).toEqual(a!.devices);
      }),
      { numRuns: 150 },
    );
  });
});

describe('packOffline on the mixes', () => {
  it('saves devices over first-fit decreasing on TCAM (HYPER VII-D: about 5 %)', () => {
    const ratio = (mix: ItemMix, n: number) => {
      let ours = 0;
      let theirs = 0;
      for (const seed of [1, 2, 3]) {
        const problem = mixedDemands(mix, n, seed);
        const packed = packOffline(problem, { strategy: 'bin-completion', seed: 1, budget: { steps: 5_000_000 } });
        expect(brokenBy(problem, packed.devices)).toEqual([]);
        ours += packed.cost;
        theirs += pack(problem, 'ffd').cost;
      }
      return ours / theirs;
    };
    expect(ratio('uniform', 100)).toBeLessThanOrEqual(0.87);
    expect(ratio('uniform', 500)).toBeLessThanOrEqual(0.87);
    for (const mix of Object.keys(ITEM_MIXES) as ItemMix[]) expect(ratio(mix, 100)).toBeLessThanOrEqual(1);
    expect(DEFAULT_PACK_BUDGET.steps).toBeGreaterThanOrEqual(5_000_000);
  });
});

describe('packOffline, when nothing fits', () => {
  const base = mixedDemands('uniform', 3, 1);
  const type = base.types[0]!;

  it('names the latency of every device when it alone rules them out (equation 5)', () => {
    const demands = base.demands.map((it, i) => (i === 1 ? { ...it, latency_us: 2 } : it));
    const packed = pack({ ...base, demands });
    expect(packed.status).toBe('impossible');
    expect(packed.conflict).toEqual({
      shortages: [{ constraint: 'latency', needed: 5, available: 2, unit: 'us', where: 'board' }],
      minimum: true,
    });
    expect(packed.reasons[1]!.candidates[0]!.constraint!.constraint).toBe('latency');
  });

  it('names the dimension of which there is too little in all', () => {
    const demands = base.demands.map((it) => ({ ...it, need: [3000], throughput_bps: 1e9 }));
    const packed = pack({ ...base, types: [{ ...type, count: 2 }], demands });
    expect(packed.conflict!.shortages).toEqual([
      { constraint: 'tcam', needed: 9000, available: 8192, unit: 'entries', where: 'all devices' },
    ]);
  });

  it('names both dimensions when neither alone rules a packing out', () => {
    const demands = [
      { ...base.demands[0]!, need: [3000], throughput_bps: 2e9 },
      { ...base.demands[1]!, need: [2000], throughput_bps: 12e9 },
      { ...base.demands[2]!, need: [1000], throughput_bps: 12e9 },
    ];
    const odd = { ...type, count: 2, throughput_bps: 15e9, capacity: [3500] };
    const packed = pack({ ...base, types: [odd], demands });
    expect(packed.status).toBe('impossible');
    expect(packed.conflict!.minimum).toBe(true);
    expect(packed.conflict!.shortages.map(({ constraint }) => constraint)).toEqual(['tcam', 'throughput']);
  });

  it('refuses figures that say nothing', () => {
    const with_ = (change: object) => () => pack({ ...base, types: [{ ...type, ...change }] });
    for (const change of [{ cost: 0 }, { cost: Number.NaN }, { count: 1.5 }, { capacity: [] }, { capacity: [-1] }])
      expect(with_(change)).toThrow(BadProblem);
    expect(with_({ functions: [7] })).toThrow('/types/0/functions/0 must be an index below 1, not 7');
    expect(() => pack({ ...base, demands: [{ ...base.demands[0]!, need: [Number.POSITIVE_INFINITY] }] })).toThrow(
      BadProblem,
    );
  });
});

const kindsOf = ({ dimensions }: AcceleratorProblem) => [
  'function',
  'latency',
  'throughput',
  ...dimensions.map(({ name }) => name),
];

/** The problem with only some kinds of constraints. */
function withOnly(problem: AcceleratorProblem, kinds: readonly string[]): AcceleratorProblem {
  return {
    ...problem,
    types: problem.types.map((type) => ({
      ...type,
      functions: kinds.includes('function') ? type.functions : [...problem.functions.keys()],
      latency_us: kinds.includes('latency') ? type.latency_us : 0,
    })),
    demands: problem.demands.map((demand) => ({
      ...demand,
      need: demand.need.map((need, k) => (kinds.includes(problem.dimensions[k]!.name) ? need : 0)),
      throughput_bps: kinds.includes('throughput') ? demand.throughput_bps : 0,
    })),
  };
}
