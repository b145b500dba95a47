import type { PlanStrategy } from '@orrery/contract';
import type { Budget } from '../budget.js';
import { type Random, seededRandom } from '../random.js';
import { MAX_EXACT_ITEMS, searchExactly } from './exact.js';
import type { Packing } from './packing.js';
import type { Constraint, Place, PlacementProblem } from './problem.js';
import { requireSound } from './require-sound.js';
import { search } from './search.js';
import { shortages } from './shortages.js';
import { smallestConflict } from './smallest-conflict.js';
import { PlacementState } from './state.js';
import { packingsOf, STRATEGIES } from './strategies.js';

/** Partial assignments looked at for something better than the search found, or for anything that fits at all. */
const EXACT_STEPS = 20_000;

export interface PlacementOptions {
  readonly strategy: PlanStrategy;
  readonly seed: number;
  /** A step is one descent of the local search. */
  readonly budget: Budget;
  /** Where items run now and therefore stay. */
  readonly pinned: readonly (Place | null)[];
}

export type Placement =
  | {
      readonly feasible: true;
      readonly state: PlacementState;
      /** Items that could not stay where they run, because they no longer fit there. */
      readonly displaced: readonly number[];
    }
  | {
      readonly feasible: false;
      /** As far as the items went that found room. */
      readonly state: PlacementState;
      /** The item that found none; `null` when sums already say that there is none. */
      readonly stuck: number | null;
      /** Limits that together leave no placement, as few as there are; of sums, each alone leaves none. */
      readonly conflicts: readonly Constraint[];
      /** Whether it was shown that there is none; otherwise none was found. */
      readonly proven: boolean;
    };

/**
 * Assigns items to cores of servers with as little traffic between servers as the strategy finds.
 * Errors: `BadProblem` when a number or an index is not sound, or the problem is too large.
 */
export function place(problem: PlacementProblem, options: PlacementOptions): Placement {
  requireSound(problem);
  const { pinned } = options;
  const short = shortages(problem);
  if (short.length > 0) {
    const state = new PlacementState(problem, pinned);
    return { feasible: false, state, stuck: null, conflicts: short, proven: true };
  }
  const random = seededRandom(options.seed);
  const packings = packingsOf(problem, pinned, options.strategy, random);
  const rescue = packings[0]!.stuck === null ? null : lastResort(problem, pinned);
  const state = rescue?.state ?? best(problem, packings, options, random);
  if (!state) {
    const { state: furthest, stuck } = packings.reduce((a, b) => (placed(b.state) > placed(a.state) ? b : a));
    const conflicts = smallestConflict(problem, { state: furthest, stuck: stuck! });
    return { feasible: false, state: furthest, stuck, conflicts, proven: rescue?.proven ?? false };
  }
  const displaced = pinned.flatMap((pin, item) => (pin && pin.bin !== state.bin[item] ? [item] : []));
  return { feasible: true, state, displaced };
}

/** The best placement that follows from complete packings; `null` without any. */
function best(
  problem: PlacementProblem,
  packings: readonly Packing[],
  { strategy, budget, pinned }: PlacementOptions,
  random: Random,
): PlacementState | null {
  const states = packings.filter(({ stuck }) => stuck === null).map(({ state }) => state);
  const least = () => states.reduce<PlacementState | null>((a, b) => (a && a.cut <= b.cut ? a : b), null);
  if (!STRATEGIES[strategy].searches) return least();
  let left = budget.steps;
  states.forEach((state, i) => {
    const movable = [...problem.items.keys()].filter((item) => pinned[item]?.bin !== state.bin[item]);
    left -= search(state, movable, { ...budget, steps: Math.floor(left / (states.length - i)) }, random);
  });
  const found = least();
  if (!found || found.cut === 0 || budget.steps === 0) return found;
  const stays = pinned.map((pin, item) => (pin?.bin === found.bin[item] ? pin : null));
  const { better } = exactly(problem, found.cut, stays);
  return (better && realised(problem, better, pinned)) ?? found;
}

/** For few items: the way that no packing found, or the proof that there is none. */
function lastResort(problem: PlacementProblem, pinned: PlacementOptions['pinned']) {
  const { better, complete } = exactly(problem, Number.POSITIVE_INFINITY, pinned);
  const free = pinned.every((pin) => pin === null);
  return { state: better && realised(problem, better, pinned), proven: free && complete && better === null };
}

function exactly(problem: PlacementProblem, known_bps: number, stay: PlacementOptions['pinned']) {
  if (problem.items.length > MAX_EXACT_ITEMS) return { better: null, complete: false };
  const fixed = stay.map((pin) => pin?.bin ?? null);
  return searchExactly(problem, known_bps, { steps: EXACT_STEPS }, fixed);
}

/** The assignment as a placement, if cores, links and tables allow it too. */
function realised(
  problem: PlacementProblem,
  bin: Int32Array,
  pinned: PlacementOptions['pinned'],
): PlacementState | null {
  const state = new PlacementState(problem, pinned);
  /** Those bound to a core come first, then the largest: the order in which cores fill best. */
  const size = (item: number) =>
    pinned[item]?.bin === bin[item] ? Number.POSITIVE_INFINITY : problem.items[item]!.cycles_per_second;
  const order = [...problem.items.keys()].sort(
    (a, b) => Number(size(b) > size(a)) - Number(size(a) > size(b)) || a - b,
  );
  return order.every((item) => state.tryAdd(item, bin[item]!)) ? state : null;
}

function placed(state: PlacementState): number {
  return state.bin.reduce((count, bin) => count + (bin >= 0 ? 1 : 0), 0);
}
