import type { PlanStrategy } from '@orrery/contract';
import { CORE_BUDGET } from '../igraph/sizing.js';
import { search } from './local-search.js';
import { crossTrafficBound } from './lower-bound.js';
import {
  anywhere,
  decreasingOrder,
  depthFirstOrder,
  fillByParts,
  fillInOrder,
  firstFit,
  leastCrossTraffic,
  type Packer,
  type Packing,
  pack,
} from './packing.js';
import type { Constraint, Place, PlacementProblem } from './problem.js';
import { seededRandom, shuffled } from './random.js';
import type { PlacementState } from './state.js';

/** Orders tried at random before a set of instances is taken not to fit. */
const RANDOM_PACKINGS = 32;

export interface PlacementOptions {
  readonly strategy: PlanStrategy;
  readonly seed: number;
  /** Rounds of local search. */
  readonly iterations: number;
  /** Where items run now and therefore stay. */
  readonly pinned: readonly (Place | null)[];
}

export type Placement =
  | {
      readonly feasible: true;
      readonly state: PlacementState;
      readonly lower_bound_bps: number;
      /** Items that could not stay where they run, because they no longer fit there. */
      readonly displaced: readonly number[];
    }
  | {
      readonly feasible: false;
      /** As far as the items went that found room. */
      readonly state: PlacementState;
      readonly stuck: number;
      readonly conflicts: readonly Constraint[];
    };

/** Assigns items to cores of servers with as little traffic between servers as the strategy finds. */
export function place(problem: PlacementProblem, options: PlacementOptions): Placement {
  const { strategy, seed, iterations } = options;
  const random = seededRandom(seed);
  const packings = starts(problem, options, random);
  const good = packings.filter(({ stuck }) => stuck === null).map(({ state }) => state);
  if (good.length === 0) {
    const { state, stuck } = packings.reduce((a, b) => (placed(b.state) > placed(a.state) ? b : a));
    return { feasible: false, state, stuck: stuck!, conflicts: conflictsOf(problem, state, stuck!) };
  }
  let best = good[0]!;
  if (strategy === 'e2') {
    let left = iterations;
    good.forEach((state, i) => {
      const movable = [...problem.items.keys()].filter((item) => options.pinned[item]?.bin !== state.bin[item]);
      const rounds = Math.floor(left / (good.length - i));
      const budget = { rounds };
      search(state, movable, budget, random);
      left -= rounds - budget.rounds;
      if (state.cut < best.cut) best = state;
    });
  }
  const displaced = options.pinned.flatMap((pin, item) => (pin && pin.bin !== best.bin[item] ? [item] : []));
  return { feasible: true, state: best, lower_bound_bps: crossTrafficBound(problem), displaced };
}

function placed(state: PlacementState): number {
  return state.bin.reduce((count, bin) => count + (bin >= 0 ? 1 : 0), 0);
}

/** Complete placements to begin from; only incomplete ones when none was found. */
function starts(problem: PlacementProblem, { strategy, pinned }: PlacementOptions, random: () => number): Packing[] {
  const run = (order: readonly number[], packer: Packer) => pack(problem, pinned, order, packer);
  const inOrder = [...problem.items.keys()];
  if (strategy === 'first-fit') return withFallbacks([run(inOrder, firstFit)]);
  if (strategy === 'random') return withFallbacks([run(shuffled(inOrder, random), anywhere(random))]);
  const depthFirst = depthFirstOrder(problem);
  const packings = [run(depthFirst, fillInOrder)];
  if (problem.bins.length > 1) packings.push(run(depthFirst, fillByParts));
  if (pinned.some((place) => place !== null)) packings.unshift(run(depthFirst, leastCrossTraffic));
  return withFallbacks(packings);

  function withFallbacks(first: Packing[]): Packing[] {
    const all = [...first];
    const found = () => all.some(({ stuck }) => stuck === null);
    if (!found()) all.push(run(decreasingOrder(problem), firstFit));
    if (!found()) all.push(run(decreasingOrder(problem), leastCrossTraffic));
    for (let i = 0; i < RANDOM_PACKINGS && !found(); i++) all.push(run(shuffled(inOrder, random), firstFit));
    return all;
  }
}

/** What is short: first what no placement can mend (sums, single items), else what kept the item off each server. */
function conflictsOf(problem: PlacementProblem, state: PlacementState, stuck: number): Constraint[] {
  const { items, bins, table } = problem;
  const where = 'infrastructure';
  if (bins.length === 0) return [{ constraint: 'cpu', needed: items.length, available: 0, unit: 'servers', where }];
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  const out: Constraint[] = [];
  const cycles = sum(items.map(({ cycles_per_second }) => cycles_per_second));
  const hz = sum(bins.map((bin) => bin.cores * bin.hz * CORE_BUDGET));
  if (cycles > hz) out.push({ constraint: 'cpu', needed: cycles / 1e9, available: hz / 1e9, unit: 'GHz', where });
  const memory = sum(items.map(({ memory_bytes }) => memory_bytes));
  const memoryThere = sum(bins.map(({ memory_bytes }) => memory_bytes));
  if (memory > memoryThere)
    out.push({ constraint: 'memory', needed: memory, available: memoryThere, unit: 'bytes', where });
  if (table.fixed > table.available)
    out.push({
      constraint: 'switch-table',
      needed: table.fixed,
      available: table.available,
      unit: 'entries',
      where: table.where,
    });
  const outside = Math.max(
    sum(items.map(({ outside_in_bps }) => outside_in_bps)),
    sum(items.map(({ outside_out_bps }) => outside_out_bps)),
  );
  const links = sum(bins.map(({ link_bps }) => link_bps));
  if (outside > links) {
    const constraint = bins.some((bin) => bin.link_constraint === 'link-bandwidth')
      ? 'link-bandwidth'
      : 'nic-bandwidth';
    out.push({ constraint, needed: outside, available: links, unit: 'bps', where });
  }
  if (out.length > 0) return out;
  return bins.flatMap((_, bin) => state.obstacle(stuck, bin) ?? []);
}
