import type { Budget } from '../budget.js';
import { MAX_EXACT_ITEMS, searchExactly } from './exact.js';
import { fitExactly } from './exact-fit.js';
import type { Place, PlacementProblem } from './problem.js';
import { PlacementState } from './state.js';

/** Partial assignments looked at for something better than the search found, or for anything that fits at all. */
const EXACT_STEPS = 20_000;

type Pinned = readonly (Place | null)[];

/** For few items: the way that no packing found, or the proof that there is none. */
export function lastResort(problem: PlacementProblem, pinned: Pinned, time: Pick<Budget, 'expired'>) {
  const { better, complete } = exactly(problem, Number.POSITIVE_INFINITY, pinned, time);
  const free = pinned.every((pin) => pin === null);
  if (complete && better === null) return { state: null, proven: free };
  const state = better && realised(problem, better, pinned);
  if (state) return { state, proven: false };
  const fit = fitExactly(problem, pinned, time);
  return {
    state: fit.places && PlacementState.of(problem, pinned, fit.places),
    proven: free && fit.complete && fit.places === null,
  };
}

export function exactly(
  problem: PlacementProblem,
  known_bps: number,
  stay: Pinned,
  { expired }: Pick<Budget, 'expired'>,
) {
  if (problem.items.length > MAX_EXACT_ITEMS) return { better: null, complete: false };
  const fixed = stay.map((pin) => pin?.bin ?? null);
  return searchExactly(problem, known_bps, { steps: EXACT_STEPS, expired }, fixed);
}

/** The assignment as a placement, if cores, links and tables allow it too. */
export function realised(problem: PlacementProblem, bin: Int32Array, pinned: Pinned): PlacementState | null {
  const state = new PlacementState(problem, pinned);
  /** Those bound to a core come first, then the largest: the order in which cores fill best. */
  const size = (item: number) =>
    pinned[item]?.bin === bin[item] ? Number.POSITIVE_INFINITY : problem.items[item]!.cycles_per_second;
  const order = [...problem.items.keys()].sort(
    (a, b) => Number(size(b) > size(a)) - Number(size(a) > size(b)) || a - b,
  );
  return order.every((item) => state.tryAdd(item, bin[item]!)) ? state : null;
}
