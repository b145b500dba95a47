import type { NfDescriptor } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../random.js';
import {
  arbitraryChain,
  arbitrarySpgProblem,
  ExecutableNf,
  everyGraph,
  isValid,
  partitions,
  randomGraph,
  randomPacket,
  runGraph,
} from '../../testing/parallel.js';
import { dependencies } from '../dependency/dependencies.js';
import { buildSpg, type SpgStrategy, STRATEGIES } from './build.js';
import { fitsBin, packingOf, unionOf } from './chains.js';
import { fewestBins, firstFit, genetic, overloadAndRemove } from './packing.js';
import { relationOf, type SpgProblem } from './problem.js';
import { inOrder, type Series, shapeOf } from './series.js';

const NAMES = Object.keys(STRATEGIES) as SpgStrategy[];
const BUDGET = { steps: 20 };
const build = (problem: SpgProblem, strategy: SpgStrategy = 'orrery', threshold = 0) =>
  buildSpg(problem, { strategy, seed: 1, budget: BUDGET, threshold });

const chainOf = (nfs: readonly NfDescriptor[]) => nfs.map(({ id }) => ({ id, nf: id }));
const problemOf = (nfs: readonly NfDescriptor[]): SpgProblem => ({
  nfs: nfs.map(({ id }, i) => ({ id, latency_us: 1 + ((i * 7) % 4) })),
  pairs: dependencies(chainOf(nfs), nfs),
  mirror_us: 0,
  merge_us: 0,
});

/** What comes out, and every state after it, as one string. */
function trace(nfs: readonly NfDescriptor[], series: Series, seed: number): string {
  const random = seededRandom(seed);
  const running = nfs.map((it, i) => new ExecutableNf(it, i + 1));
  const out = Array.from({ length: 12 }, () => runGraph(running, series, randomPacket(random)));
  const packets = out.map((it) => (it ? [...it.value.map((v, f) => (it.there[f] ? v : 0)), ...it.there] : null));
  return JSON.stringify([packets, running.map(({ state }) => state)]);
}

describe('packets and states behind a graph', () => {
  it('are those behind the chain, for every valid graph', () => {
    let beside = 0;
    fc.assert(
      fc.property(arbitraryChain(7), fc.nat(), (nfs, seed) => {
        const problem = problemOf(nfs);
        const series = randomGraph(problem, seededRandom(seed));
        expect(isValid(problem, series)).toBe(true);
        if (series.some(({ kind }) => kind === 'parallel')) beside++;
        expect(trace(nfs, series, seed)).toBe(trace(nfs, inOrder(nfs.map((_, i) => i)), seed));
      }),
      { numRuns: 3000, seed: 3 },
    );
    expect(beside).toBeGreaterThan(1000);
  });

  it('are those behind the chain, whatever strategy made the graph', () => {
    fc.assert(
      fc.property(arbitraryChain(9), fc.constantFrom(...NAMES), fc.nat(), (nfs, strategy, seed) => {
        const { series } = build(problemOf(nfs), strategy);
        expect(trace(nfs, series, seed)).toBe(trace(nfs, inOrder(nfs.map((_, i) => i)), seed));
      }),
      { numRuns: 1000, seed: 5 },
    );
  });

  it('are not, where dependent NFs are put side by side all the same', () => {
    const seen = new Map<string, { pairs: number; wrong: number }>();
    fc.assert(
      fc.property(arbitraryChain(2), fc.nat(), (nfs, seed) => {
        const [pair] = dependencies(chainOf(nfs), nfs);
        fc.pre(pair !== undefined);
        const beside: Series = [{ kind: 'parallel', branches: [inOrder([0]), inOrder([1])] }];
        const reversed = inOrder([1, 0]);
        const chain = trace(nfs, inOrder([0, 1]), seed);
        const count = (kind: string, wrong: boolean) => {
          const it = seen.get(kind) ?? { pairs: 0, wrong: 0 };
          seen.set(kind, { pairs: it.pairs + 1, wrong: it.wrong + (wrong ? 1 : 0) });
        };
        const kinds = new Set(pair!.conflicts.map(({ kind }) => kind));
        if (kinds.size === 1) count([...kinds][0]!, trace(nfs, beside, seed) !== chain);
        if (kinds.size === 0 && pair!.order.length === 1)
          count(pair!.order[0]!.kind, trace(nfs, reversed, seed) !== chain);
      }),
      { numRuns: 6000, seed: 9 },
    );
    for (const kind of ['write-read', 'write-write', 'length', 'drop-state', 'read-write', 'state-drop'])
      expect([kind, (seen.get(kind)?.wrong ?? 0) > 5]).toEqual([kind, true]);
  });
});

describe('orrery, beside every series-parallel graph there is', () => {
  it('has the least latency, and of the graphs as fast one with the fewest copies', () => {
    const graphs = [1, 2, 3, 4, 5].map((n) => everyGraph(Array.from({ length: n }, (_, i) => i)));
    expect(graphs.map(({ length }) => length)).toEqual([1, 3, 19, 195, 2791]);
    let slower = 0;
    fc.assert(
      fc.property(arbitrarySpgProblem(1, 5), (problem) => {
        const latency_us = problem.nfs.map((it) => it.latency_us);
        const shapes = graphs[latency_us.length - 1]!.filter((it) => isValid(problem, it)).map((it) =>
          shapeOf(it, latency_us, problem),
        );
        const least = Math.min(...shapes.map((it) => it.latency_us));
        const copies = Math.min(...shapes.filter((it) => it.latency_us <= least + 1e-9).map((it) => it.copies));
        const spg = build(problem);
        expect(isValid(problem, spg.series)).toBe(true);
        expect([spg.latency_us, spg.copies, spg.proven]).toEqual([least, copies, true]);
        expect(spg.lower_bound_us).toBe(least);
        if (problem.mirror_us === 0 && least > spg.critical_path.latency_us) slower++;
      }),
      { numRuns: 400, seed: 2 },
    );
    expect(slower).toBeGreaterThan(0);
  });

  it('is as fast as any strategy and as lean as any that is as fast, on chains of up to 11', () => {
    let critical = 0;
    let free = 0;
    fc.assert(
      fc.property(arbitrarySpgProblem(2, 11), (problem) => {
        const spg = build(problem);
        expect(spg.latency_us).toBeGreaterThanOrEqual(spg.critical_path.latency_us);
        if (problem.mirror_us === 0) {
          free++;
          if (spg.latency_us === spg.critical_path.latency_us) critical++;
        }
        for (const strategy of NAMES) {
          const other = build(problem, strategy);
          expect(isValid(problem, other.series)).toBe(true);
          expect(other.latency_us).toBeGreaterThanOrEqual(spg.latency_us - 1e-9);
          if (other.latency_us <= spg.latency_us + 1e-9) expect(other.copies).toBeGreaterThanOrEqual(spg.copies);
        }
      }),
      { numRuns: 150, seed: 4 },
    );
    expect(critical / free).toBeGreaterThan(0.5);
  });

  it('takes chains beyond the exact size', () => {
    fc.assert(
      fc.property(arbitrarySpgProblem(14, 20), (problem) => {
        const spg = build(problem);
        expect(isValid(problem, spg.series)).toBe(true);
        expect(spg.latency_us).toBeLessThanOrEqual(spg.sequential_us);
        const hurried = buildSpg(problem, { strategy: 'orrery', seed: 1, budget: { steps: 0, expired: () => true } });
        expect(isValid(problem, hurried.series)).toBe(true);
        expect(hurried.latency_us).toBeGreaterThanOrEqual(spg.latency_us - 1e-9);
        for (const { latency_us } of spg.rejected) expect(latency_us).toBeGreaterThanOrEqual(spg.latency_us - 1e-9);
      }),
      { numRuns: 15, seed: 4 },
    );
  });
});

describe('packings of chains of dependent NFs (HydraNF 6.1-6.6)', () => {
  it('never overload a bin, hold every chain, and are as few as in any division of the chains', () => {
    let worse = 0;
    fc.assert(
      fc.property(arbitrarySpgProblem(2, 8), fc.nat(), (problem, seed) => {
        const packing = packingOf(relationOf(problem));
        fc.pre(packing.chains.length <= 7);
        const every = packing.chains.map((_, c) => c);
        const sound = (bins: readonly (readonly number[])[]) =>
          bins.every((bin) => fitsBin(packing, unionOf(packing, bin)));
        const least = Math.min(
          ...partitions(every)
            .filter(sound)
            .map(({ length }) => length),
        );
        const found = [
          fewestBins(packing),
          firstFit(packing),
          overloadAndRemove(packing),
          genetic(packing, BUDGET, seededRandom(seed)),
        ];
        for (const bins of found) {
          expect(sound(bins)).toBe(true);
          expect(bins.flat().sort((a, b) => a - b)).toEqual(every);
          expect(bins.length).toBeGreaterThanOrEqual(least);
        }
        expect(found[0]!.length).toBe(least);
        if (found[1]!.length > least) worse++;
      }),
      { numRuns: 500, seed: 6 },
    );
    expect(worse).toBeGreaterThan(0);
  });
});

describe('metamorphic', () => {
  it('loses nothing when a dependency goes, and gives the same for the same seed', () => {
    fc.assert(
      fc.property(arbitrarySpgProblem(2, 8), fc.nat(), (problem, pick) => {
        const bound = problem.pairs.flatMap(({ parallel }, p) => (parallel ? [] : [p]));
        fc.pre(bound.length > 0);
        const gone = bound[pick % bound.length];
        const freed = {
          ...problem,
          pairs: problem.pairs.map((it, p) => (p === gone ? { ...it, parallel: true, order: it.order } : it)),
        };
        expect(build(freed).latency_us).toBeLessThanOrEqual(build(problem).latency_us + 1e-9);
        expect(build(problem, 'genetic')).toEqual(build(problem, 'genetic'));
      }),
      { numRuns: 100, seed: 8 },
    );
  });
});
