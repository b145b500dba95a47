import { requireAtLeast } from '../../bad-problem.js';
import type { Budget } from '../../budget.js';
import { threeDigits } from '../../figures.js';
import { seededRandom } from '../../random.js';
import { type Bins, binBound, bound, type ChainPacking, packingOf, unionOf } from './chains.js';
import { compose } from './compose.js';
import { fewestBins, firstFit, genetic, MAX_EXACT_CHAINS, overloadAndRemove } from './packing.js';
import { criticalPath, membersOf, type Relation, relationOf, type SpgProblem } from './problem.js';
import { inOrder, type Series, type Shape, shapeOf, sideBySide, spgText } from './series.js';

/** Chains stay sequential unless parallel processing saves at least this share of their latency (HydraNF 6.8). */
const DEFAULT_THRESHOLD = 0.05;

interface SpgOptions {
  readonly strategy: SpgStrategy;
  readonly seed: number;
  readonly budget: Budget;
  /** Share of the sequential latency, from 0 to 1. Below it the chain stays sequential. */
  readonly threshold?: number;
}

/** How chains of dependent NFs were packed (HydraNF 6.1-6.6). NFs by index; `lower_bound`: no packing has fewer bins. */
export interface Packing {
  readonly bins: readonly (readonly number[])[];
  readonly chains: number;
  readonly lower_bound: number;
  readonly proven: boolean;
}

interface RejectedSpg extends Shape {
  readonly strategy: SpgStrategy;
  readonly graph: string;
  readonly because: string;
}

export interface Spg extends Shape {
  readonly strategy: SpgStrategy;
  readonly series: Series;
  readonly sequential_us: number;
  /** Longest dependent path: nothing is faster. */
  readonly critical_path: { readonly nfs: readonly number[]; readonly latency_us: number };
  /** No series-parallel graph is faster; `bound_by` says how that is known. */
  readonly lower_bound_us: number;
  readonly bound_by: 'every-graph' | 'critical-path';
  readonly gap: number;
  /** The latency is the least there is, and no graph as fast makes fewer copies. */
  readonly proven: boolean;
  /** Work a packet causes in mirrors and merges, on whichever branch. */
  readonly overhead_us: number;
  /** The gain was below the threshold. */
  readonly reverted: boolean;
  /** What was packed in bins, for the strategies that do. */
  readonly packing: Packing | null;
  readonly rejected: readonly RejectedSpg[];
}

interface Task extends SpgOptions {
  readonly problem: SpgProblem;
  readonly relation: Relation;
}

interface Draft {
  readonly series: Series;
  readonly packing: Packing | null;
  /** Of all series-parallel graphs of the chain. */
  readonly proven: boolean;
}

/** Each way to turn a chain into a graph. `orrery` is ours, the others are what it is measured against. */
export const STRATEGIES = {
  orrery: (task) => ours(task),
  sequential: ({ relation }) => plain(inOrder(Array.from(relation.latency_us, (_, i) => i))),
  parabox: ({ relation }) => plain(levels(relation)),
  'first-fit': (task) => packed(task, firstFit),
  'overload-and-remove': (task) => packed(task, overloadAndRemove),
  genetic: (task) => packed(task, (it) => genetic(it, task.budget, seededRandom(task.seed))),
  'fewest-bins': (task) =>
    packed(task, (it) => (it.chains.length <= MAX_EXACT_CHAINS ? fewestBins(it) : overloadAndRemove(it))),
} satisfies Record<string, (task: Task) => Draft>;
export type SpgStrategy = keyof typeof STRATEGIES;

/**
 * Turns a chain into a series-parallel graph: the least latency first, then the fewest copies (HydraNF 6.4.1).
 *
 * `orrery` searches the graphs themselves. The document's strategies pack chains of dependent NFs into bins no larger
 * than the critical path; but bins that fit do not make a graph that is as fast, since branches wait for one another
 * where they share an NF, so that their graphs may be slower than the critical path.
 * Errors: `BadProblem`.
 */
export function buildSpg(problem: SpgProblem, options: SpgOptions): Spg {
  const threshold = options.threshold ?? DEFAULT_THRESHOLD;
  requireAtLeast('/threshold', threshold, 0);
  requireAtLeast('/budget/steps', options.budget.steps, 0);
  const task = { ...options, problem, relation: relationOf(problem) };
  const strategy: (task: Task) => Draft = STRATEGIES[options.strategy];
  const draft = strategy(task);
  const sequential = STRATEGIES.sequential(task);
  const candidates = options.strategy === 'orrery' ? strawmen(task) : [];
  const shape = shapeIn(task, draft.series);
  const sequential_us = shapeIn(task, sequential.series).latency_us;
  const gain = sequential_us - shape.latency_us;
  const reverted = shape.mirrors > 0 && gain < threshold * sequential_us;
  const rejected = candidates.map(({ name, it }) => rejectedFor(task, name, it.series, shape));
  const share = (gain / (sequential_us || 1)) * 100;
  const because = `saves ${share.toFixed(1)} % of the latency; at least ${(threshold * 100).toFixed(1)} % is needed to be worth the copies`;
  if (reverted) rejected.unshift({ ...described(task, options.strategy, draft.series), because });
  return answer(task, reverted ? { ...sequential, packing: draft.packing } : draft, {
    reverted,
    least_us: draft.proven ? shape.latency_us : null,
    sequential_us,
    rejected,
  });
}

interface Verdict extends Pick<Spg, 'reverted' | 'sequential_us' | 'rejected'> {
  readonly least_us: number | null;
}

function answer(task: Task, draft: Draft, { least_us, ...verdict }: Verdict): Spg {
  const shape = shapeIn(task, draft.series);
  const critical_path = criticalPath(task.relation);
  const lower_bound_us = least_us ?? critical_path.latency_us;
  const { mirror_us, merge_us } = task.problem;
  return {
    ...shape,
    ...verdict,
    strategy: task.strategy,
    series: draft.series,
    packing: draft.packing,
    critical_path,
    lower_bound_us,
    bound_by: least_us === null ? 'critical-path' : 'every-graph',
    gap: shape.latency_us > 0 ? Math.max(0, 1 - lower_bound_us / shape.latency_us) : 0,
    proven: draft.proven && !verdict.reverted,
    overhead_us: shape.copies * (mirror_us + merge_us),
  };
}

function shapeIn({ problem, relation }: Task, series: Series): Shape {
  return shapeOf(series, relation.latency_us, problem);
}

function plain(series: Series): Draft {
  return { series, packing: null, proven: false };
}

/** The best of our own composition and, where that is not proven, of what the packings make. */
function ours(task: Task): Draft {
  const { series, proven } = compose(task.relation, task.problem, task.budget.expired);
  const own: Draft = { series, packing: null, proven };
  if (proven) return own;
  return strawmen(task)
    .map(({ it }) => it)
    .reduce((best, it) => (better(shapeIn(task, it.series), shapeIn(task, best.series)) ? it : best), own);
}

function better(a: Shape, b: Shape): boolean {
  const close = Math.abs(a.latency_us - b.latency_us) <= 1e-9 * b.latency_us;
  return close ? a.copies < b.copies : a.latency_us < b.latency_us;
}

/** What is quickly made and worth comparing with. */
function strawmen(task: Task): { name: SpgStrategy; it: Draft }[] {
  const names: SpgStrategy[] = ['sequential', 'parabox', 'first-fit', 'overload-and-remove'];
  return names.map((name) => ({ name, it: STRATEGIES[name](task) }));
}

function described(task: Task, strategy: SpgStrategy, series: Series) {
  const graph = spgText(
    series,
    task.problem.nfs.map(({ id }) => id),
  );
  return { ...shapeIn(task, series), strategy, graph };
}

function rejectedFor(task: Task, strategy: SpgStrategy, series: Series, chosen: Shape): RejectedSpg {
  const it = described(task, strategy, series);
  const slower = it.latency_us - chosen.latency_us;
  const more = it.copies - chosen.copies;
  const because =
    slower > 1e-9 * chosen.latency_us
      ? `slower by ${threeDigits(slower)} µs`
      : more > 0
        ? `as fast, with ${more} more ${more === 1 ? 'copy' : 'copies'} of each packet`
        : 'as good';
  return { ...it, because };
}

/** Everything in parallel as early as it can be (ParaBox, as HydraNF 6.6.1 describes it): one step for each level. */
function levels({ n, dependent, blocked }: Relation): Series {
  const level = new Int32Array(n);
  for (let y = 0; y < n; y++) {
    const before = (1 << y) - 1;
    for (const x of membersOf(dependent[y]! & before)) level[y] = Math.max(level[y]!, level[x]! + 1);
    for (const x of membersOf(blocked[y]! & before)) level[y] = Math.max(level[y]!, level[x]!);
  }
  const steps = n === 0 ? 0 : Math.max(...level) + 1;
  return Array.from({ length: steps }, (_, l) => [...level.keys()].filter((x) => level[x] === l)).flatMap((nfs) =>
    sideBySide(nfs.map((nf) => inOrder([nf]))),
  );
}

/** Packs chains, then composes the graph in which NFs of one bin run one after another (HydraNF 6.4.1, step 2). */
function packed({ relation, problem, budget }: Task, pack: (packing: ChainPacking) => Bins): Draft {
  const packing = packingOf(relation);
  const bins = pack(packing);
  const lower_bound = binBound(packing);
  const open = bins.length > lower_bound && packing.chains.length <= MAX_EXACT_CHAINS;
  const exact = open ? fewestBins(packing).length : lower_bound;
  return {
    series: compose(bound(packing, bins), problem, budget.expired).series,
    packing: {
      bins: bins.map((bin) => membersOf(unionOf(packing, bin))),
      chains: packing.chains.length,
      lower_bound: exact,
      proven: bins.length === exact,
    },
    proven: false,
  };
}
