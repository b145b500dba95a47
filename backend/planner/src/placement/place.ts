import type { PlanStrategy } from '@orrery/contract';
import { seededRandom, shuffled } from '../random.js';
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
import { shortages } from './shortages.js';
import { PlacementState } from './state.js';

/** Orders tried at random before a set of instances is taken not to fit, as far as the work allows. */
const RANDOM_PACKINGS = 32;
const RANDOM_WORK = 1_000_000;

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
      /** The item that found none; `null` when sums already say that there is none. */
      readonly stuck: number | null;
      readonly conflicts: readonly Constraint[];
    };

/** Assigns items to cores of servers with as little traffic between servers as the strategy finds. */
export function place(problem: PlacementProblem, options: PlacementOptions): Placement {
  const { strategy, seed, iterations } = options;
  const random = seededRandom(seed);
  const short = shortages(problem);
  if (short.length > 0) {
    return { feasible: false, state: new PlacementState(problem, options.pinned), stuck: null, conflicts: short };
  }
  const packings = starts(problem, options, random);
  const good = packings.filter(({ stuck }) => stuck === null).map(({ state }) => state);
  if (good.length === 0) {
    const { state, stuck } = packings.reduce((a, b) => (placed(b.state) > placed(a.state) ? b : a));
    return { feasible: false, state, stuck: stuck!, conflicts: obstaclesOf(problem, state, stuck!) };
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
    const tries = Math.min(RANDOM_PACKINGS, RANDOM_WORK / (problem.items.length * problem.bins.length));
    for (let i = 0; i < tries && !found(); i++) all.push(run(shuffled(inOrder, random), firstFit));
    return all;
  }
}

/** What keeps the item that found no place off each server. */
function obstaclesOf({ bins }: PlacementProblem, state: PlacementState, stuck: number): Constraint[] {
  return bins.flatMap((_, bin) => state.obstacle(stuck, bin) ?? []);
}
