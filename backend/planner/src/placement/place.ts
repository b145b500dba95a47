import type { PlanStrategy } from '@orrery/contract';
import { type Budget, improving, inTime } from '../budget.js';
import { type Random, seededRandom } from '../random.js';
import { displacedBy, stayings } from './keep-running.js';
import { exactly, lastResort, realised } from './last-resort.js';
import type { Packing } from './packing.js';
import type { Constraint, Place, PlacementProblem } from './problem.js';
import { requireSound } from './require-sound.js';
import { search } from './search.js';
import { shortages } from './shortages.js';
import { smallestConflict } from './smallest-conflict.js';
import type { PlacementState } from './state.js';
import { packingsOf, STRATEGIES } from './strategies.js';

/** What one search left. */
type Found =
  | { readonly feasible: true; readonly state: PlacementState }
  | (Omit<Refused, 'places' | 'cut_bps'> & { readonly state: PlacementState });
type Refused = Extract<Placement, { feasible: false }>;

export interface PlacementOptions {
  readonly strategy: PlanStrategy;
  readonly seed: number;
  /** A step is one descent of the local search. */
  readonly budget: Budget;
  /** Where items run now and therefore stay, as far as they fit. */
  readonly pinned: readonly (Place | null)[];
}

/** What was found; nothing of the search is left in it. */
export type Placement =
  | {
      readonly feasible: true;
      /** By item. */
      readonly places: readonly Place[];
      readonly cut_bps: number;
      /** Items that leave the core on which they run, because they no longer fit there. */
      readonly displaced: readonly number[];
    }
  | {
      readonly feasible: false;
      /** By item, as far as they found room; `null` for the others. */
      readonly places: readonly (Place | null)[];
      /** Of what found room. */
      readonly cut_bps: number;
      /** The item that found none; `null` when sums already say that there is none. */
      readonly stuck: number | null;
      /** Limits that together leave no placement, as few as there are; of sums, each alone leaves none. */
      readonly conflicts: readonly Constraint[];
      /** Whether it was shown that there is none; otherwise none was found. */
      readonly proven: boolean;
    };

/**
 * Assigns items to cores of servers with as little traffic between servers as the strategy finds. What runs stays on its
 * core; only what no longer fits there leaves it, and is `displaced`.
 * Errors: `BadProblem` when a number or an index is not sound, or the problem is too large; `OutOfTime` when the time is
 * over before everything has found a place or nothing is left to try.
 */
export function place(problem: PlacementProblem, options: PlacementOptions): Placement {
  requireSound(problem);
  const short = shortages(problem);
  if (short.length > 0) {
    const places = problem.items.map(() => null);
    return { feasible: false, places, cut_bps: 0, stuck: null, conflicts: short, proven: true };
  }
  const refused: Refused[] = [];
  for (const pinned of stayings(problem, options.pinned)) {
    const found = placeAround(problem, { ...options, pinned });
    const { state, ...rest } = found;
    const places = problem.items.map((_, item) => state.placeOf(item));
    const cut_bps = state.cut;
    if (!rest.feasible) refused.push({ ...rest, places, cut_bps });
    else {
      const complete = places.map((place) => place!);
      return { feasible: true, places: complete, cut_bps, displaced: displacedBy(complete, options.pinned) };
    }
  }
  return refused[0]!;
}

/** Precondition: all that is pinned fits where it is pinned. */
function placeAround(problem: PlacementProblem, options: PlacementOptions): Found {
  const { pinned } = options;
  const random = seededRandom(options.seed);
  const packings = packingsOf(problem, pinned, options.strategy, random, options.budget);
  const rescue = packings[0]!.stuck === null ? null : lastResort(problem, pinned, options.budget);
  const starts = rescue?.state ? [{ state: rescue.state, stuck: null }] : packings;
  const state = best(problem, starts, options, random);
  if (state) return { feasible: true, state };
  const { state: furthest, stuck } = packings.reduce((a, b) => (placed(b.state) > placed(a.state) ? b : a));
  const conflicts = [
    ...whatRuns(problem, options, stuck!),
    ...smallestConflict(problem, { state: furthest, stuck: stuck! }, options.budget),
  ];
  return { feasible: false, state: furthest, stuck, conflicts, proven: rescue?.proven ?? false };
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
    left -= search(state, movable, { ...improving(budget), steps: Math.floor(left / (states.length - i)) }, random);
  });
  const found = least();
  if (!found || found.cut === 0 || budget.steps === 0) return found;
  const stays = pinned.map((pin, item) => (pin?.bin === found.bin[item] ? pin : null));
  const { better } = exactly(problem, found.cut, stays, improving(budget));
  return (better && realised(problem, better, pinned)) ?? found;
}

/** What moves in a placement in which everything finds a place; empty when even that would not help, or nothing runs. */
function whatRuns(problem: PlacementProblem, options: PlacementOptions, stuck: number): Constraint[] {
  const { pinned } = options;
  if (pinned.every((pin) => pin === null)) return [];
  const budget = { ...improving(options.budget), steps: 0 };
  const free = inTime(() => place(problem, { ...options, pinned: pinned.map(() => null), budget }));
  if (!free?.feasible) return [];
  const needed = displacedBy(free.places, pinned).length;
  const where = problem.items[stuck]!.id;
  return [{ constraint: 'affinity', needed, available: 0, unit: 'running instances to move', where }];
}

function placed(state: PlacementState): number {
  return state.bin.reduce((count, bin) => count + (bin >= 0 ? 1 : 0), 0);
}
