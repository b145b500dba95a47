import type { PlanStrategy } from '@orrery/contract';
import type { Budget } from '../budget.js';
import { type Random, seededRandom } from '../random.js';
import { exactly, lastResort, realised } from './last-resort.js';
import type { Packing } from './packing.js';
import type { Constraint, Place, PlacementProblem } from './problem.js';
import { requireSound } from './require-sound.js';
import { search } from './search.js';
import { shortages } from './shortages.js';
import { smallestConflict } from './smallest-conflict.js';
import { PlacementState } from './state.js';
import { packingsOf, STRATEGIES } from './strategies.js';

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
    const conflicts = [
      ...whatRuns(problem, options, stuck!),
      ...smallestConflict(problem, { state: furthest, stuck: stuck! }),
    ];
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

/** What would have to move for everything to find a place; empty when even that would not help, or nothing runs. */
function whatRuns(problem: PlacementProblem, options: PlacementOptions, stuck: number): Constraint[] {
  const { pinned } = options;
  if (pinned.every((pin) => pin === null)) return [];
  const free = place(problem, { ...options, pinned: pinned.map(() => null), budget: { steps: 0 } });
  if (!free.feasible) return [];
  const needed = pinned.filter((pin, item) => pin && free.state.bin[item] !== pin.bin).length;
  const where = problem.items[stuck]!.id;
  return [{ constraint: 'affinity', needed, available: 0, unit: 'running instances to move', where }];
}

function placed(state: PlacementState): number {
  return state.bin.reduce((count, bin) => count + (bin >= 0 ? 1 : 0), 0);
}
