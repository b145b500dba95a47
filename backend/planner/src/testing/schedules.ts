import { seededRandom } from '../random.js';
import type { ScheduleProblem, Slo, TrafficClass } from '../schedule/problem.js';

export const QUEUE_CYCLES = 30;

/** A problem over a tree given by the parent of each module; -1 for a source. Classes are in the order of the leaves. */
export function treeProblem(
  parents: readonly number[],
  cycles: readonly number[],
  rates: readonly number[],
  slos: readonly Slo[],
  rest: Partial<Pick<ScheduleProblem, 'workers' | 'costs'>> = {},
): ScheduleProblem {
  const leaves = [...parents.keys()].filter((v) => !parents.includes(v));
  const classes = leaves.map((leaf, c): TrafficClass => {
    const path: number[] = [];
    for (let v = leaf; v >= 0; v = parents[v]!) path.unshift(v);
    return { id: `c${c}`, path, rate_pps: rates[c % rates.length]! };
  });
  return {
    modules: cycles.map((cycles_per_packet, i) => ({ id: `m${i}`, cycles_per_packet })),
    edges: parents.flatMap((from, to) => (from < 0 ? [] : [{ from, to }])),
    classes,
    slos,
    workers: { count: 1, cycles_per_second: 1e3, sharing: 'replicate' },
    costs: { queue_cycles_per_packet: 0, classifier_cycles_per_packet: 1 },
    ...rest,
  };
}

/** Figure 5.3: A classifies for B and C, at equal costs and rates; CPU time 3 : 1. */
export function figure53(ratio = 3): ScheduleProblem {
  const problem = treeProblem([-1, 0, 0], [1, 1, 1], [1e6], [{ kind: 'cpu-time', a: 0, b: 1, ratio }]);
  return { ...problem, modules: problem.modules.map((it, i) => ({ ...it, id: 'ABC'[i]! })) };
}

export interface RandomTree {
  readonly parents: number[];
  readonly cycles: number[];
  readonly rates: number[];
  readonly ratios: number[];
}

/** Trees of which every third module has one child; `whole` makes all numbers small integers, which coincide often. */
export function randomTree(seed: number, modules: number, whole: boolean): RandomTree {
  const random = seededRandom(seed);
  const number = (most: number) => (whole ? 1 + Math.floor(random() * most) : 0.2 + random() * most);
  const parents = [-1];
  for (let v = 1; v < modules; v++) parents.push(Math.floor(random() * v));
  return {
    parents,
    cycles: parents.map(() => number(3)),
    rates: parents.map(() => (whole ? 1 : number(3))),
    ratios: parents.map(() => number(3)),
  };
}

/** CPU-time or throughput ratios between each class and the first. */
export function withRatios(tree: RandomTree, kind: 'cpu-time' | 'throughput'): ScheduleProblem {
  const bare = treeProblem(tree.parents, tree.cycles, tree.rates, []);
  const slos = bare.classes
    .slice(1)
    .map((_, i): Slo => ({ kind, a: i + 1, b: 0, ratio: tree.ratios[i + 1]! / tree.ratios[0]! }));
  return { ...bare, slos };
}

/** The synthetic pipeline of Alpine 5.5.2: a full binary tree with equal costs. */
export function binaryTree(depth: number, seed: number): ScheduleProblem {
  const random = seededRandom(seed);
  const modules = 2 ** (depth + 1) - 1;
  const parents = Array.from({ length: modules }, (_, v) => (v === 0 ? -1 : (v - 1) >> 1));
  const bare = treeProblem(
    parents,
    parents.map(() => 50),
    [1e4],
    [],
  );
  const slos = bare.classes
    .slice(1)
    .map((_, i): Slo => ({ kind: 'cpu-time', a: i + 1, b: i, ratio: (0.5 + random()) / (0.5 + random()) }));
  return { ...bare, slos };
}
