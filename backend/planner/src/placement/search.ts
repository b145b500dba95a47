import type { Budget } from '../budget.js';
import type { Random } from '../random.js';
import { descendByBestSwap, leastGain } from './best-swap.js';
import { GainBuckets } from './gain-buckets.js';
import type { PlacementState } from './state.js';

/** Above this size the first descent goes by gain buckets too: looking at every pair takes quadratic time a step. */
const MAX_BEST_SWAP_ITEMS = 400;
/** Steps of one descent by buckets, as a multiple of the items: none has been seen to need so many. */
const STEPS_PER_ITEM = 20;
/** Changes between two restarts. */
const MIN_KICKS = 4;
const KICKS_PER_ITEM = 1 / 12;
/** Up to so many items the budget is at least `FEWEST_DESCENTS`: with one, some end at twice the least traffic. */
const FEW_ITEMS = 20;
const FEWEST_DESCENTS = 21;
const DESCENTS_PER_ITEM = 20;

/**
 * Descends, then again and again from a perturbed copy of the best, until the budget is spent or nothing crosses; a step
 * of the budget is one descent. Leaves the best placement in `state`. Returns the steps used.
 */
export function search(state: PlacementState, movable: readonly number[], budget: Budget, random: Random): number {
  const least = leastGain(state);
  const buckets = new GainBuckets(state, movable, least);
  const most = STEPS_PER_ITEM * movable.length;
  state.commit();
  if (budget.steps < 1 || movable.length === 0 || state.problem.bins.length < 2 || budget.expired?.()) return 0;
  if (movable.length <= MAX_BEST_SWAP_ITEMS) descendByBestSwap(state, movable, { ...budget, steps: most });
  else {
    for (const item of movable) buckets.look(item);
    buckets.descend({ ...budget, steps: most });
  }
  state.commit();
  const descents = descentsFor(movable.length, budget);
  let used = 1;
  while (used < descents && state.cut > least && !budget.expired?.()) {
    const before = state.cut;
    for (const item of kick(state, movable, random)) buckets.lookAround(item);
    buckets.descend({ ...budget, steps: most });
    buckets.clear();
    if (state.cut < before - least) state.commit();
    else state.rollback(0);
    used++;
  }
  return used;
}

/** What few items need costs next to nothing; more than that finds nothing new. */
function descentsFor(items: number, { steps }: Budget): number {
  const enough = Math.max(FEWEST_DESCENTS, DESCENTS_PER_ITEM * items);
  return Math.min(enough, items <= FEW_ITEMS ? Math.max(steps, FEWEST_DESCENTS) : steps);
}

/** Swaps and moves some items at random, as far as there is room; those that went. */
function kick(state: PlacementState, movable: readonly number[], random: Random): number[] {
  const pick = (n: number) => Math.floor(random() * n);
  const kicks = Math.max(MIN_KICKS, Math.ceil(movable.length * KICKS_PER_ITEM));
  const gone: number[] = [];
  for (let i = 0; i < kicks; i++) {
    const item = movable[pick(movable.length)]!;
    const other = movable[pick(movable.length)]!;
    const bin = pick(state.problem.bins.length);
    if (random() < 0.5) {
      if (bin !== state.bin[item] && state.tryMove(item, bin)) gone.push(item);
    } else if (state.bin[item] !== state.bin[other] && state.trySwap(item, other)) gone.push(item, other);
  }
  return gone;
}
