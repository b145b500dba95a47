import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadProblem } from '../bad-problem.js';
import { seededRandom } from '../random.js';
import { Clock } from '../testing/clock.js';
import { randomIGraph } from '../testing/igraphs.js';
import { arbitraryProblem, binsOf, cutOf, overbooked } from '../testing/placements.js';
import { leastGain } from './best-swap.js';
import { GainBuckets } from './gain-buckets.js';
import { depthFirstOrder, fillInOrder, pack } from './packing.js';
import { place } from './place.js';
import type { PlacementProblem } from './problem.js';
import { MAX_FLOWS } from './require-sound.js';
import { search } from './search.js';

const free = (problem: PlacementProblem) => problem.items.map(() => null);
const run = (problem: PlacementProblem, steps = 100) =>
  place(problem, { strategy: 'e2', seed: 1, budget: { steps }, pinned: free(problem) });
const packed = (problem: PlacementProblem) => pack(problem, free(problem), depthFirstOrder(problem), fillInOrder);

const item = (id: string, rest: Partial<PlacementProblem['items'][number]> = {}) => ({
  id,
  cycles_per_second: 1e8,
  memory_bytes: 10,
  outside_in_bps: 0,
  outside_out_bps: 0,
  ...rest,
});
const bin = (id: string, rest: Partial<PlacementProblem['bins'][number]> = {}) => ({
  id,
  cores: 1,
  hz: 1e9,
  memory_bytes: 100,
  link_bps: 1e9,
  link_constraint: 'nic-bandwidth' as const,
  ...rest,
});
const table = { fixed: 0, available: 100, where: 'switch-1' };

describe('the search', () => {
  it('by gain buckets leaves no step that cuts more, as the search over all pairs does not', () => {
    fc.assert(
      fc.property(arbitraryProblem(12, 4), fc.nat(), (problem, seed) => {
        const { state, stuck } = packed(problem);
        fc.pre(stuck === null);
        const least = leastGain(state);
        const items = [...problem.items.keys()];
        const buckets = new GainBuckets(state, items, least);
        for (let pass = 0; pass < 5; pass++) {
          for (const i of items) buckets.look(i);
          buckets.descend({ steps: 1000 });
        }
        const before = state.cut;
        expect(before).toBeCloseTo(cutOf(problem.flows, state.bin), 6);
        for (const i of items) {
          for (let b = 0; b < problem.bins.length; b++) {
            const mark = state.mark();
            if (b !== state.bin[i] && state.tryMove(i, b)) expect(state.cut).toBeGreaterThanOrEqual(before - 1e-6);
            state.rollback(mark);
          }
        }
        expect(state.cut).toBeCloseTo(before, 6);
        search(state, items, { steps: 20 }, seededRandom(seed));
        expect(state.cut).toBeLessThanOrEqual(before + 1e-6);
      }),
      { numRuns: 300 },
    );
  });

  it('undoes exactly what it did', () => {
    fc.assert(
      fc.property(arbitraryProblem(10, 3), fc.array(fc.tuple(fc.nat(9), fc.nat(9), fc.nat(2))), (problem, steps) => {
        const { state, stuck } = packed(problem);
        fc.pre(stuck === null);
        const before = state.snapshot();
        const { cut } = state;
        const mark = state.mark();
        const n = problem.items.length;
        for (const [i, j, b] of steps) {
          const [a, c] = [i % n, j % n];
          if (state.bin[a] === state.bin[c]) state.tryMove(a, b % problem.bins.length);
          else state.trySwap(a, c);
        }
        state.rollback(mark);
        expect(state.snapshot()).toEqual(before);
        expect(state.cut).toBeCloseTo(cut, 6);
      }),
      { numRuns: 300 },
    );
  });

  it('halves the traffic of a random placement of 100 instances, and takes 500 in its stride (E2 3.6.2)', () => {
    const ratios = [1, 2, 3].map((seed) => {
      const problem = randomIGraph(100, seed);
      const options = { seed, budget: { steps: 50 }, pinned: free(problem) };
      const [ours, random, packing] = (['e2', 'random', 'packing'] as const).map(
        (strategy) => place(problem, { ...options, strategy }).cut_bps,
      );
      return [ours! / random!, ours! / packing!];
    });
    for (const [toRandom, toPacking] of ratios) {
      expect(toRandom).toBeLessThan(0.6);
      expect(toPacking).toBeLessThan(0.8);
    }
    const large = randomIGraph(500, 1);
    expect(run(large, 20).cut_bps).toBeLessThan(0.8 * packed(large).state.cut);
  });

  it('leaves nothing of the search in its answer: plain data, equal to what a thread would receive', () => {
    const fits = { items: ['a', 'b'].map((id) => item(id, {})), flows: [], bins: [bin('s1')], table };
    const tooLarge = { ...fits, bins: [bin('s1', { memory_bytes: 0 })] };
    const stuck = { ...fits, items: fits.items.map((it) => ({ ...it, memory_bytes: 60 })) };
    for (const problem of [fits, tooLarge, stuck]) {
      const answer = run(problem);
      expect(structuredClone(answer)).toStrictEqual(answer);
    }
  });

  it('ends when its time is over', () => {
    for (const instances of [100, 500]) {
      const clock = new Clock(200);
      const problem = randomIGraph(instances, 1);
      const { state } = packed(problem);
      search(state, [...problem.items.keys()], { steps: 1e9, expired: clock.expired }, seededRandom(1));
      expect(clock.askedInVain).toBeLessThan(4);
      const places = problem.items.map((_, i) => state.placeOf(i)!);
      expect(overbooked(problem, binsOf({ places }))).toEqual([]);
    }
  });
});

describe('what cannot be placed', () => {
  it('names the fewest limits that conflict, each with what is needed and there', () => {
    const items = ['a', 'b', 'c'].map((id) => item(id, { memory_bytes: 60, cycles_per_second: 2e8 }));
    const bins = [bin('s1'), bin('s2')];
    const crowded = run({ items, flows: [], bins, table });
    expect(crowded).toMatchObject({
      feasible: false,
      proven: true,
      conflicts: [
        { constraint: 'memory', needed: 60, available: 40, unit: 'bytes', where: 's1' },
        { constraint: 'memory', needed: 60, available: 40, unit: 'bytes', where: 's2' },
      ],
    });
  });

  it('names two limits where each alone would leave a way', () => {
    const items = [item('a', { cycles_per_second: 6e8 }), item('b', { cycles_per_second: 6e8, memory_bytes: 90 })];
    const bins = [bin('s1'), bin('small', { memory_bytes: 5 })];
    const { feasible, conflicts } = run({ items, flows: [], bins, table }) as Extract<
      ReturnType<typeof place>,
      { feasible: false }
    >;
    expect(feasible).toBe(false);
    expect(conflicts.map(({ constraint, where }) => `${constraint} ${where}`)).toEqual(['cpu s1', 'memory small']);
  });

  it('names what would have to move where only what runs is in the way', () => {
    const items = ['a', 'b', 'c'].map((id) => item(id, { memory_bytes: id === 'c' ? 100 : 50 }));
    const problem = { items, flows: [], bins: [bin('s1'), bin('s2')], table };
    const pinned = [{ bin: 0, core: 0 }, { bin: 1, core: 0 }, null];
    const refused = place(problem, { strategy: 'e2', seed: 1, budget: { steps: 1 }, pinned });
    expect(refused).toMatchObject({ feasible: false, proven: false });
    expect(!refused.feasible && refused.conflicts[0]).toEqual({
      constraint: 'affinity',
      needed: 1,
      available: 0,
      unit: 'running instances to move',
      where: 'c',
    });
    expect(run(problem).feasible).toBe(true);
  });

  it('is found where every packing fails but sums allow it', () => {
    const sizes = [40, 40, 30, 30, 30, 30];
    const items = sizes.map((size, i) => item(`i${i}`, { memory_bytes: size, cycles_per_second: 1e7 }));
    const bins = [bin('s1'), bin('s2')];
    expect(run({ items, flows: [], bins, table }).feasible).toBe(true);
  });
});

describe('a problem that is not sound', () => {
  const sound: PlacementProblem = {
    items: [item('a'), item('b')],
    flows: [{ from: 0, to: 1, rate_bps: 1 }],
    bins: [bin('s')],
    table,
  };
  const fieldOf = (problem: PlacementProblem) => {
    try {
      run(problem);
      return 'none';
    } catch (error) {
      expect(error).toBeInstanceOf(BadProblem);
      return (error as BadProblem).field;
    }
  };

  it('is refused by the field that is wrong, before any work', () => {
    expect(fieldOf(sound)).toBe('none');
    expect(fieldOf({ ...sound, items: [item('a', { cycles_per_second: Number.NaN }), item('b')] })).toBe(
      '/items/0/cycles_per_second',
    );
    expect(fieldOf({ ...sound, items: [item('a'), item('b', { memory_bytes: -1 })] })).toBe('/items/1/memory_bytes');
    expect(fieldOf({ ...sound, flows: [{ from: 0, to: 7, rate_bps: 1 }] })).toBe('/flows/0/to');
    expect(fieldOf({ ...sound, flows: [{ from: 1, to: 1, rate_bps: 1 }] })).toBe('/flows/0');
    expect(fieldOf({ ...sound, flows: [{ from: 0, to: 1, rate_bps: Number.POSITIVE_INFINITY }] })).toBe(
      '/flows/0/rate_bps',
    );
    expect(fieldOf({ ...sound, bins: [bin('s', { hz: 0 })] })).toBe('/bins/0/hz');
    expect(fieldOf({ ...sound, table: { ...table, available: Number.NaN } })).toBe('/table/available');
  });

  it('is refused when it has a million edges', () => {
    const flows = Array.from({ length: MAX_FLOWS + 1 }, () => ({ from: 0, to: 1, rate_bps: 1 }));
    expect(fieldOf({ ...sound, flows })).toBe('/flows');
  });
});
