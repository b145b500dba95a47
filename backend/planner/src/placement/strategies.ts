import type { PlanStrategy } from '@orrery/contract';
import { type Budget, improving, inTime } from '../budget.js';
import { type Random, shuffled } from '../random.js';
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
import type { Place, PlacementProblem } from './problem.js';

/** Orders tried at random before a set of instances is taken not to fit, as far as the work allows. */
const RANDOM_PACKINGS = 32;
const RANDOM_WORK = 1_000_000;

type Pinned = readonly (Place | null)[];

interface Strategy {
  /** Orders and packers to begin with. */
  readonly starts: (
    problem: PlacementProblem,
    pinned: Pinned,
    random: Random,
  ) => readonly (readonly [readonly number[], Packer])[];
  /** Whether the packings are improved by search. */
  readonly searches: boolean;
}

const inOrder = ({ items }: PlacementProblem) => [...items.keys()];

/** E2's placement, and what it is compared with. */
export const STRATEGIES: Readonly<Record<PlanStrategy, Strategy>> = {
  e2: {
    searches: true,
    starts: (problem, pinned) => {
      const order = depthFirstOrder(problem);
      const packers: Packer[] = [fillInOrder];
      if (problem.bins.length > 1) packers.push(fillByParts);
      const tied = pinned.some((place) => place !== null) || problem.items.some(({ hosts }) => hosts);
      if (tied) packers.unshift(leastCrossTraffic);
      return packers.map((packer) => [order, packer] as const);
    },
  },
  packing: { searches: false, starts: (problem) => [[depthFirstOrder(problem), fillInOrder]] },
  'first-fit-decreasing': { searches: false, starts: (problem) => [[decreasingOrder(problem), firstFit]] },
  'first-fit': { searches: false, starts: (problem) => [[inOrder(problem), firstFit]] },
  random: {
    searches: false,
    starts: (problem, _pinned, random) => [[shuffled(inOrder(problem), random), anywhere(random)]],
  },
};

/**
 * Complete placements by the strategy, or by other packers where it finds none; only incomplete ones if none is found.
 * Errors: `OutOfTime` when the time is over before one is complete or all were tried.
 */
export function packingsOf(
  problem: PlacementProblem,
  pinned: Pinned,
  strategy: PlanStrategy,
  random: Random,
  budget: Budget,
): readonly Packing[] {
  const all: Packing[] = [];
  const complete = () => all.filter(({ stuck }) => stuck === null);
  const run = (order: readonly number[], packer: Packer) => pack(problem, pinned, order, packer, budget);
  for (const [order, packer] of STRATEGIES[strategy].starts(problem, pinned, random)) {
    if (complete().length === 0) all.push(run(order, packer));
    else all.push(...(inTime(() => [pack(problem, pinned, order, packer, improving(budget))]) ?? []));
  }
  if (complete().length === 0) all.push(run(decreasingOrder(problem), firstFit));
  if (complete().length === 0) all.push(run(decreasingOrder(problem), leastCrossTraffic));
  const tries = Math.min(RANDOM_PACKINGS, RANDOM_WORK / (problem.items.length * problem.bins.length));
  for (let i = 0; i < tries && complete().length === 0; i++)
    all.push(run(shuffled(inOrder(problem), random), firstFit));
  return complete().length > 0 ? complete() : all;
}
