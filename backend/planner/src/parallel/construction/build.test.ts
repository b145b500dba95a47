import { beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../../random.js';
import type { Solver } from '../../solver/linear-model.js';
import { unhurried } from '../../testing/clock.js';
import { testSolver } from '../../testing/highs.js';
import { dependent } from '../../testing/parallel.js';
import { buildSpg, type SpgStrategy } from './build.js';
import { certifySpg } from './certify.js';
import { diagramOf, widestBranches } from './diagram.js';
import type { SpgProblem } from './problem.js';
import { spgText } from './series.js';

const build = (problem: SpgProblem, strategy: SpgStrategy = 'orrery', threshold?: number) =>
  buildSpg(problem, { strategy, seed: 1, budget: { steps: 50 }, threshold });
const text = (problem: SpgProblem, strategy?: SpgStrategy) =>
  spgText(
    build(problem, strategy).series,
    problem.nfs.map(({ id }) => id),
  );

/**
 * HydraNF, figure 6.6. The text gives ten NFs, the critical path 1,7,5,8,10, the chain 1,2,4,6,9, a bin of 150 and the
 * merged chain 1,2,3,4,5,6,9,10; single latencies are chosen to fit these. In the order of the chain 7 is before 5.
 */
const FIGURE_6_6: SpgProblem = (() => {
  const latencies = { 1: 10, 2: 10, 3: 20, 4: 20, 7: 50, 5: 30, 6: 25, 8: 50, 9: 25, 10: 10 } as const;
  const order = ['1', '2', '3', '4', '7', '5', '6', '8', '9', '10'] as const;
  const edges = ['1 2', '2 4', '4 6', '6 9', '9 10', '1 3', '3 5', '5 9', '1 7', '7 5', '5 8', '8 10'];
  const at = (id: string) => order.indexOf(id as (typeof order)[number]);
  const problem = dependent(
    order.map((id) => latencies[id]),
    edges.map((it) => it.split(' ').map(at) as [number, number]),
  );
  return { ...problem, nfs: problem.nfs.map((nf, i) => ({ ...nf, id: order[i]! })) };
})();

describe('the examples of HydraNF, chapter 6', () => {
  it('figure 6.6: two bins of 150, and a graph as fast as the critical path', () => {
    const named = (nfs: readonly number[]) => nfs.map((i) => FIGURE_6_6.nfs[i]!.id).join(',');
    for (const strategy of ['first-fit', 'overload-and-remove', 'genetic', 'fewest-bins'] as const) {
      const spg = build(FIGURE_6_6, strategy);
      expect(named(spg.critical_path.nfs)).toBe('1,7,5,8,10');
      expect(spg.packing!.bins.map(named).sort()).toEqual(['1,2,3,4,5,6,9,10', '1,7,5,8,10']);
      expect(spg.packing).toMatchObject({ chains: 3, lower_bound: 2, proven: true });
      expect(text(FIGURE_6_6, strategy)).toBe('1, (2, 3, 4 | 7), 5, (6, 9 | 8), 10');
    }
    expect(build(FIGURE_6_6)).toMatchObject({
      latency_us: 150,
      lower_bound_us: 150,
      sequential_us: 250,
      copies: 2,
      mirrors: 2,
      branches: 2,
      proven: true,
      gap: 0,
    });
    expect(build(FIGURE_6_6, 'parabox').copies).toBeGreaterThan(2);
  });

  it('figure 6.2: NFs that are together no slower than the slowest share a branch', () => {
    const problem = dependent([5, 15, 20], []);
    expect(build(problem, 'parabox').copies).toBe(2);
    expect(build(problem)).toMatchObject({ latency_us: 20, copies: 1 });
    expect(text(problem)).toBe('(0, 1 | 2)');
  });

  it('6.8: reverts to the chain where a slow NF leaves little to gain, and says so', () => {
    const shaper = (latency: number) => dependent([latency, 10, 10], []);
    expect(build(shaper(100), 'orrery', 0.2)).toMatchObject({ reverted: true, latency_us: 120, copies: 0 });
    expect(build(shaper(100), 'orrery', 0.2).rejected[0]!.because).toMatch(/^saves 16.7 % /);
    expect(build(shaper(20), 'orrery', 0.2)).toMatchObject({ reverted: false, latency_us: 20, sequential_us: 40 });
    expect(build(shaper(100))).toMatchObject({ reverted: false, latency_us: 100 });
  });
});

describe('diagramOf', () => {
  it('draws mirrors and merges out, and finds the widest place', () => {
    const { series, mirrors, branches } = build(FIGURE_6_6);
    const { vertices, links } = diagramOf(series);
    expect(vertices.filter(({ kind }) => kind === 'mirror')).toHaveLength(mirrors);
    expect(vertices.filter(({ kind }) => kind === 'merge')).toHaveLength(mirrors);
    expect(vertices.flatMap(({ nf }) => nf ?? []).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(new Set(links.map(({ to }) => to)).size).toBe(vertices.length - 1);
    for (const { id, kind } of vertices)
      expect([id, links.filter(({ from }) => from === id).length]).toEqual([
        id,
        kind === 'mirror' ? 2 : id === 'nf-9' ? 0 : 1,
      ]);
    expect(widestBranches(series)).toHaveLength(branches);
    expect(widestBranches(build(dependent([1, 1], [[0, 1]])).series)).toEqual([[0, 1]]);
    expect(widestBranches([])).toEqual([]);
  });
});

describe('what the document overlooks', () => {
  it('Proposition 1 bounds latency from below only: some dependencies fit no series-parallel graph', () => {
    const problem = dependent(
      [1, 5, 5, 1],
      [
        [0, 2],
        [0, 3],
        [1, 3],
      ],
    );
    const spg = build(problem);
    expect(spg).toMatchObject({ latency_us: 7, proven: true, lower_bound_us: 7, bound_by: 'every-graph' });
    expect(spg.critical_path.latency_us).toBe(6);
  });

  it('bins that fit may make a graph above the critical path, since branches wait where they share an NF', () => {
    const before = [1, 2, 3, 4].flatMap((x) => [[0, x] as const, [x, 5] as const]);
    const after = [6, 7].flatMap((x) => [[5, x] as const, [x, 8] as const]);
    const problem = dependent([10, 30, 30, 30, 50, 10, 5, 50, 10], [...before, ...after]);
    const bins = build(problem, 'fewest-bins');
    expect(bins.packing).toMatchObject({ proven: true, lower_bound: 2 });
    expect(bins.critical_path.latency_us).toBe(130);
    expect(bins.latency_us).toBe(170);
    expect(build(problem).latency_us).toBe(130);
  });
});

describe('certifySpg', () => {
  let solve: Solver;
  beforeAll(async () => {
    solve = await testSolver();
  });

  it('agrees with our packing and our critical path on random chains, and contradicts a false claim', async () => {
    const random = seededRandom(5);
    for (let run = 0; run < 25; run++) {
      const n = 4 + Math.floor(random() * 5);
      const latencies = Array.from({ length: n }, () => 1 + Math.floor(random() * 9));
      const edges = latencies.flatMap((_, later) =>
        latencies.slice(0, later).flatMap((_, earlier) => (random() < 0.3 ? [[earlier, later] as const] : [])),
      );
      const problem = dependent(latencies, edges);
      const spg = build(problem, 'fewest-bins', 0);
      const certificate = await certifySpg(problem, spg, solve, unhurried(0));
      expect(certificate).toMatchObject({ contradictions: [], proven: true, bins: spg.packing!.bins.length });
    }
    const spg = build(FIGURE_6_6, 'fewest-bins');
    const lie = { ...spg, latency_us: 149, packing: { ...spg.packing!, bins: [[0]] } };
    const { contradictions } = await certifySpg(FIGURE_6_6, lie, solve, unhurried(0));
    expect(contradictions).toEqual([
      'the graph is faster than the critical path',
      'the bound lies above the graph',
      'the packing has too few bins',
    ]);
  });
});

describe('bad problems', () => {
  const good = dependent([1, 2], [[0, 1]]);
  it.each([
    ['/nfs/0/latency_us', { ...good, nfs: [{ id: 'a', latency_us: Number.NaN }, good.nfs[1]!] }],
    ['/nfs/1/latency_us', { ...good, nfs: [good.nfs[0]!, { id: 'b', latency_us: -1 }] }],
    ['/mirror_us', { ...good, mirror_us: -1 }],
    ['/merge_us', { ...good, merge_us: Number.POSITIVE_INFINITY }],
    ['/pairs/0', { ...good, pairs: [{ earlier: 1, later: 0, parallel: true, order: [] }] }],
    ['/pairs/0', { ...good, pairs: [{ earlier: 0, later: 2, parallel: true, order: [] }] }],
    ['/nfs', dependent(new Array<number>(31).fill(1), [])],
  ])('are refused at %s', (field, problem) => {
    expect(() => build(problem)).toThrow(expect.objectContaining({ name: 'BadProblem', field }));
  });

  it('a negative threshold or budget is refused, an empty chain is not', () => {
    expect(() => build(good, 'orrery', -1)).toThrow(expect.objectContaining({ field: '/threshold' }));
    expect(build(dependent([], []))).toMatchObject({ latency_us: 0, copies: 0, series: [] });
  });
});
