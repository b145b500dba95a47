import type { Place, PlacementProblem } from './problem.js';
import { PlacementState } from './state.js';

export type Pinned = readonly (Place | null)[];

/**
 * What runs and can stay exactly where it runs, all of it together: the places by item, `null` for one that is new or has
 * to leave. On a core that has become too full the smallest stay, so that the fewest leave; second comes, where it
 * differs, that the largest stay.
 */
export function stayings(problem: PlacementProblem, pinned: Pinned): Pinned[] {
  const size = (item: number) => problem.items[item]!.cycles_per_second;
  const running = [...problem.items.keys()].filter((item) => pinned[item]);
  const smallest = staying(
    problem,
    pinned,
    running.toSorted((a, b) => size(a) - size(b)),
  );
  if (running.every((item) => smallest[item])) return [smallest];
  const largest = staying(
    problem,
    pinned,
    running.toSorted((a, b) => size(b) - size(a)),
  );
  return largest.every((place, item) => place === smallest[item]) ? [smallest] : [smallest, largest];
}

/** What fits on its core when items go back to theirs in this order. */
function staying(problem: PlacementProblem, pinned: Pinned, order: readonly number[]): Pinned {
  const state = new PlacementState(problem, pinned);
  const stays: (Place | null)[] = problem.items.map(() => null);
  for (const item of order) {
    const place = pinned[item]!;
    if (!state.tryAdd(item, place.bin)) continue;
    if (state.core[item] === place.core) stays[item] = place;
    else state.remove(item);
  }
  return stays;
}

/** Items that run and would not stay on their core. */
export function displacedBy(places: readonly Place[], pinned: Pinned): number[] {
  return pinned.flatMap((place, item) =>
    place && (place.bin !== places[item]!.bin || place.core !== places[item]!.core) ? [item] : [],
  );
}
