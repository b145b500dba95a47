import type { Random } from '../random.js';
import type { PlacementState } from './state.js';

/** Rounds of search left; a round looks at every move and every swap once. */
export interface Budget {
  rounds: number;
}

/**
 * Takes the move or swap of two items that cuts cross traffic most, until none does or the budget is spent: E2's form of
 * Kernighan-Lin (E2 3.4.1 step 4), to which moves of one item are added. Items that are not `movable` stay.
 */
export function descend(state: PlacementState, movable: readonly number[], budget: Budget): void {
  const { flows } = state.problem;
  const least = 1e-9 * flows.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
  while (budget.rounds > 0 && state.cut > least) {
    budget.rounds--;
    if (!improve(state, movable, least)) return;
  }
}

interface Step {
  readonly item: number;
  readonly bin: number;
  /** The item that takes its place; `null` for a move. */
  readonly other: number | null;
}

function improve(state: PlacementState, movable: readonly number[], least: number): boolean {
  const { traffic, bin: at } = state;
  const s = state.problem.bins.length;
  let bestGain = least;
  let best: { bin: Int32Array; core: Int32Array } | null = null;
  const before = state.snapshot();
  const consider = (step: Step, gain: number) => {
    if (apply(state, step)) {
      bestGain = gain;
      best = state.snapshot();
    }
    state.restore(before);
  };
  /** The most that any one item of server a gains by going to b. */
  const most = new Float64Array(s * s).fill(Number.NEGATIVE_INFINITY);
  for (const item of movable) {
    const a = at[item]!;
    for (let b = 0; b < s; b++) {
      if (b === a) continue;
      const gain = traffic[item * s + b]! - traffic[item * s + a]!;
      if (gain > most[a * s + b]!) most[a * s + b] = gain;
      if (gain > bestGain) consider({ item, bin: b, other: null }, gain);
    }
  }
  const between = new Float64Array(state.problem.items.length);
  for (let x = 0; x < movable.length; x++) {
    const i = movable[x]!;
    const a = at[i]!;
    let promising = false;
    for (let b = 0; b < s && !promising; b++) {
      promising = b !== a && traffic[i * s + b]! - traffic[i * s + a]! + most[b * s + a]! > bestGain;
    }
    if (!promising) continue;
    for (const { from, to, rate_bps } of state.neighbours(i)) between[from === i ? to : from]! += rate_bps;
    for (let y = x + 1; y < movable.length; y++) {
      const j = movable[y]!;
      const b = at[j]!;
      if (a === b) continue;
      const gain =
        traffic[i * s + b]! - traffic[i * s + a]! + traffic[j * s + a]! - traffic[j * s + b]! - 2 * between[j]!;
      if (gain > bestGain) consider({ item: i, bin: b, other: j }, gain);
    }
    for (const { from, to } of state.neighbours(i)) between[from === i ? to : from] = 0;
  }
  if (!best) return false;
  state.restore(best);
  return true;
}

/** Does the step if nothing is overbooked by it. Otherwise the caller has to restore the state. */
function apply(state: PlacementState, { item, bin, other }: Step): boolean {
  const from = state.bin[item]!;
  state.remove(item);
  if (other === null) return state.tryAdd(item, bin);
  state.remove(other);
  return state.tryAdd(item, bin) && state.tryAdd(other, from);
}

/**
 * Descends, then again and again from a perturbed copy of the best, until the budget is spent or nothing crosses.
 * Leaves the best placement in `state`.
 */
export function search(state: PlacementState, movable: readonly number[], budget: Budget, random: Random): void {
  descend(state, movable, budget);
  if (movable.length < 2 || state.problem.bins.length < 2) return;
  const least = 1e-9 * state.problem.flows.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
  let best = state.snapshot();
  let bestCut = state.cut;
  while (budget.rounds > 0 && bestCut > least) {
    perturb(state, movable, random);
    descend(state, movable, budget);
    if (state.cut < bestCut - least) {
      bestCut = state.cut;
      best = state.snapshot();
    } else state.restore(best);
    budget.rounds--;
  }
  state.restore(best);
}

/** Swaps and moves a tenth of the items at random, as far as there is room. */
function perturb(state: PlacementState, movable: readonly number[], random: Random): void {
  const pick = (n: number) => Math.floor(random() * n);
  const steps = Math.max(2, Math.ceil(movable.length / 10));
  for (let step = 0; step < steps; step++) {
    const before = state.snapshot();
    const item = movable[pick(movable.length)]!;
    const other = movable[pick(movable.length)]!;
    const swap = random() < 0.5 && state.bin[item] !== state.bin[other];
    const bin = swap ? state.bin[other]! : pick(state.problem.bins.length);
    if (bin === state.bin[item] || !apply(state, { item, bin, other: swap ? other : null })) state.restore(before);
  }
}
