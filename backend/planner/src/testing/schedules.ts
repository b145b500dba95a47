import { seededRandom } from '../random.js';
import type { Mode, ScheduleProblem, Slo, TrafficClass } from '../schedule/problem.js';
import { ModelBuilder, type Solver } from '../solver/linear-model.js';

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

/** Trees at random; `whole` makes costs and ratios small integers, which coincide often. All offer more than a worker can do. */
export function randomTree(seed: number, modules: number, whole: boolean): RandomTree {
  const random = seededRandom(seed);
  const number = (most: number) => (whole ? 1 + Math.floor(random() * most) : 0.2 + random() * most);
  const parents = [-1];
  for (let v = 1; v < modules; v++) parents.push(Math.floor(random() * v));
  return {
    parents,
    cycles: parents.map(() => number(3)),
    rates: parents.map(() => (whole ? 1e6 : number(3) * 1e6)),
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

/** The synthetic chain of Alpine 5.5.2: a full binary tree with equal costs. */
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

/**
 * The fewest tasks of the free mode by trying every cut of a tree: for each task the interval of what may have been spent
 * before it, from the leaves up. Knows neither elimination nor the planner's regions.
 */
export function fewestTasksByIntervals(tree: RandomTree, target: readonly number[]): number {
  const n = tree.parents.length;
  let best = Number.POSITIVE_INFINITY;
  for (let code = 0; code < 2 ** (n - 1); code++) {
    const heads = tree.parents.map((_, v) => v === 0 || ((code >> (v - 1)) & 1) === 1);
    const count = heads.filter(Boolean).length;
    if (count >= best) continue;
    const [low, high] = entries(tree, target, heads, 0);
    if (low <= 1e-9 && high >= -1e-9) best = count;
  }
  return best;
}

const NONE: readonly [number, number] = [1, -1e300];
const POSITIVE = 1e-7;

/** What may have been spent before the task at `head`; `target` is by module and holds something at leaves only. */
function entries(
  tree: RandomTree,
  target: readonly number[],
  heads: boolean[],
  head: number,
): readonly [number, number] {
  const leaves: { cost: number; target: number }[] = [];
  const below: { cost: number; low: number; high: number }[] = [];
  const visit = (v: number, before: number) => {
    const cost = before + tree.cycles[v]!;
    const children = tree.parents.flatMap((up, w) => (up === v ? [w] : []));
    if (children.length === 0) leaves.push({ cost, target: target[v]! });
    for (const w of children) {
      if (!heads[w]) visit(w, cost);
      else {
        const [low, high] = entries(tree, target, heads, w);
        below.push({ cost, low, high });
      }
    }
  };
  visit(head, 0);
  if (below.some(({ low, high }) => low > high)) return NONE;
  let range: readonly [number, number] = [-1e300, 1e300];
  // slope * P <= limit
  const atMost = (slope: number, limit: number) => {
    if (Math.abs(slope) < 1e-12) {
      if (limit < -1e-9) range = NONE;
    } else if (slope > 0) range = [range[0], Math.min(range[1], limit / slope)];
    else range = [Math.max(range[0], limit / slope), range[1]];
  };
  const first = leaves[0];
  if (first) {
    atMost(1, first.target - POSITIVE);
    for (const { cost, target: other } of leaves.slice(1)) {
      const slope = 1 - cost / first.cost;
      const limit = other - (cost / first.cost) * first.target;
      atMost(slope, limit + 1e-10);
      atMost(-slope, -limit + 1e-10);
    }
    for (const { cost, low, high } of below) {
      const slope = 1 - cost / first.cost;
      atMost(slope, high - (cost / first.cost) * first.target + 1e-10);
      atMost(-slope, (cost / first.cost) * first.target - low + 1e-10);
    }
  } else {
    for (const a of below) {
      atMost(1, a.high - POSITIVE);
      for (const b of below) atMost(1 / b.cost - 1 / a.cost, b.high / b.cost - a.low / a.cost + 1e-10);
    }
  }
  return range[0] <= range[1] + 1e-9 ? range : NONE;
}

/** Cycles to spend on each class per packet it offers, by module, up to a factor. */
export function leafTargets(problem: ScheduleProblem): number[] {
  const out = problem.modules.map(() => 0);
  for (const [c, { path, rate_pps }] of problem.classes.entries()) {
    const slo = problem.slos.find((it) => it.kind === 'cpu-time' && it.a === c);
    const ratio = slo && slo.kind === 'cpu-time' ? slo.ratio : 1;
    out[path.at(-1)!] = (ratio * 1e6) / rate_pps;
  }
  return out;
}

/**
 * The fewest tasks by a solver, from classes and ratios alone: a service for each module, at least `least`, and a binary
 * for each edge. `null`: there are none.
 */
export async function fewestTasksBySolver(
  problem: ScheduleProblem,
  tree: RandomTree,
  mode: Mode,
  solver: Solver,
  least: number,
): Promise<number | null> {
  const target = leafTargets(problem);
  const model = new ModelBuilder();
  const most = Math.max(...target) / Math.min(...tree.cycles);
  const x = tree.parents.map(() => model.column({ lower: least, upper: most }));
  tree.parents.forEach((up, v) => {
    if (up < 0) return;
    const cut = model.binary(1);
    model.row(
      [
        [x[up]!, 1],
        [x[v]!, -1],
        [cut, -most],
      ],
      { upper: 0 },
    );
    model.row(
      [
        [x[up]!, 1],
        [x[v]!, -1],
        [cut, most],
      ],
      { lower: 0 },
    );
    if (mode === 'constrained')
      model.row(
        [
          [x[up]!, 1],
          [x[v]!, -1],
        ],
        { lower: 0 },
      );
  });
  for (const { path } of problem.classes) {
    const wanted = target[path.at(-1)!]!;
    model.row(
      path.map((v) => [x[v]!, tree.cycles[v]!] as const),
      { lower: wanted, upper: wanted },
    );
  }
  const solution = await solver(model, { time_limit_s: 20 });
  if (solution.status === 'infeasible') return null;
  if (solution.status !== 'optimal') throw new Error(`the solver says ${solution.status}`);
  return 1 + Math.round(solution.objective!);
}

/**
 * Ratios within up to two groups of classes drawn at random; other classes are in none. `whole` makes them coincide often.
 */
export function withSomeRatios(
  tree: RandomTree,
  seed: number,
  whole: boolean,
  kind: 'cpu-time' | 'throughput',
): ScheduleProblem {
  const random = seededRandom(seed);
  const bare = treeProblem(tree.parents, tree.cycles, tree.rates, []);
  const last: (number | undefined)[] = [];
  const slos = bare.classes.flatMap((_, c): Slo[] => {
    const group = Math.floor(random() * 3);
    const before = last[group];
    if (group > 1) return [];
    last[group] = c;
    const ratio = whole ? (1 + Math.floor(random() * 2)) / (1 + Math.floor(random() * 2)) : 0.6 + random();
    return before === undefined ? [] : [{ kind, a: c, b: before, ratio }];
  });
  return { ...bare, slos };
}

/**
 * The fewest tasks that keep what each SLO of one kind says of its two classes, and nothing else, by a solver: a service
 * of at least `least` times the mean for each module and a binary for each edge of a tree. `null`: there are none.
 */
export async function fewestTasksForSlos(
  problem: ScheduleProblem,
  { parents, cycles }: RandomTree,
  mode: Mode,
  solver: Solver,
  least: number,
): Promise<number | null> {
  const model = new ModelBuilder();
  const most = parents.length;
  const byTime = problem.slos[0]?.kind === 'cpu-time';
  const x = parents.map(() => model.column({ lower: least, upper: most }));
  model.row(
    x.map((column) => [column, 1] as const),
    { lower: most, upper: most },
  );
  parents.forEach((up, v) => {
    if (up < 0) return;
    const [above, here, cut] = [x[up]!, x[v]!, model.binary(1)];
    const difference = [[above, 1] as const, [here, -1] as const];
    model.row([...difference, [cut, -most]], { upper: 0 });
    model.row([...difference, [cut, most]], { lower: 0 });
    if (mode === 'constrained' || !byTime) model.row(difference, { lower: 0 });
  });
  for (const slo of problem.slos) {
    if (slo.kind === 'priority') throw new Error('ratios only');
    const gets = (c: number, factor: number) => {
      const { path, rate_pps } = problem.classes[c]!;
      const modules = byTime ? path : path.slice(-1);
      return modules.map((v) => [v, ((byTime ? cycles[v]! : 1) * rate_pps * factor) / 1e6] as const);
    };
    const sums = new Map<number, number>();
    for (const [v, value] of [...gets(slo.a, 1), ...gets(slo.b, -slo.ratio)]) sums.set(v, (sums.get(v) ?? 0) + value);
    model.row(
      [...sums].map(([v, value]) => [x[v]!, value] as const),
      { lower: 0, upper: 0 },
    );
  }
  const solution = await solver(model, { time_limit_s: 20 });
  if (solution.status === 'infeasible') return null;
  if (solution.status !== 'optimal') throw new Error(`the solver says ${solution.status}`);
  return 1 + Math.round(solution.objective!);
}
