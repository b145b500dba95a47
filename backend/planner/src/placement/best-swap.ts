import type { Budget } from '../budget.js';
import type { PlacementState } from './state.js';

/**
 * Takes the move or swap of two items that cuts cross traffic most, until none cuts any: E2's form of Kernighan-Lin
 * (E2 3.4.1 step 4), to which moves of one item are added. Items that are not `movable` stay. A round looks at every pair
 * that may still win, O(n^2) at worst. A step of the budget is a round. Returns the rounds used.
 */
export function descendByBestSwap(state: PlacementState, movable: readonly number[], budget: Budget): number {
  const least = leastGain(state);
  const scan = new Scan(state, movable, least);
  let used = 0;
  while (used < budget.steps && state.cut > least && !budget.expired?.()) {
    used++;
    if (!scan.improve()) break;
  }
  return used;
}

/** Gains below this are rounding. */
export function leastGain({ problem }: PlacementState): number {
  return 1e-9 * problem.flows.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
}

interface Step {
  readonly item: number;
  readonly bin: number;
  /** The item that takes its place; negative for a move. */
  readonly other: number;
}

class Scan {
  private readonly bins: number;
  private readonly isMovable: Uint8Array;
  /** The most that any one item of server a gains by going to b: `most[a * bins + b]`. */
  private readonly most: Float64Array;
  /** Traffic of the item that is looked at with each other. */
  private readonly between: Float64Array;
  private best: Step | null = null;
  private bestGain = 0;

  constructor(
    private readonly state: PlacementState,
    private readonly movable: readonly number[],
    private readonly least: number,
  ) {
    this.bins = state.problem.bins.length;
    this.isMovable = new Uint8Array(state.problem.items.length);
    for (const item of movable) this.isMovable[item] = 1;
    this.most = new Float64Array(this.bins * this.bins);
    this.between = new Float64Array(state.problem.items.length);
  }

  /** Does the best step that overbooks nothing; `false` when there is none. */
  improve(): boolean {
    for (let below = Number.POSITIVE_INFINITY; ; below = this.bestGain) {
      this.best = null;
      this.bestGain = this.least;
      this.lookAtMoves(below);
      this.lookAtSwaps(below);
      if (!this.best) return false;
      const { item, bin, other } = this.best as Step;
      if (other < 0 ? this.state.tryMove(item, bin) : this.state.trySwap(item, other)) return true;
    }
  }

  private lookAtMoves(below: number): void {
    const { bins, most, state } = this;
    const { bin: at, traffic } = state;
    most.fill(Number.NEGATIVE_INFINITY);
    for (const item of this.movable) {
      const a = at[item]!;
      const home = traffic[item * bins + a]!;
      for (let b = 0; b < bins; b++) {
        if (b === a) continue;
        const gain = traffic[item * bins + b]! - home;
        if (gain > most[a * bins + b]!) most[a * bins + b] = gain;
        if (gain > this.bestGain && gain < below && state.mayFit(item, b)) this.note(gain, { item, bin: b, other: -1 });
      }
    }
  }

  /** Looks at each pair from the item that gains by going, or from both. */
  private lookAtSwaps(below: number): void {
    const { bins, most, state } = this;
    const { bin: at, traffic } = state;
    for (const item of this.movable) {
      const a = at[item]!;
      const home = traffic[item * bins + a]!;
      let weighed = false;
      for (let b = 0; b < bins; b++) {
        const gain = traffic[item * bins + b]! - home;
        if (b === a || gain <= 0 || gain + most[b * bins + a]! <= this.bestGain) continue;
        if (!weighed) this.weigh(item, 1);
        weighed = true;
        this.lookAtPartners(item, b, gain, below);
      }
      if (weighed) this.weigh(item, 0);
    }
  }

  private lookAtPartners(item: number, b: number, gain: number, below: number): void {
    const { between, bins, isMovable, state } = this;
    const { bin: at, traffic } = state;
    const a = at[item]!;
    for (const other of state.members[b]!) {
      if (!isMovable[other]) continue;
      const sum = gain + traffic[other * bins + a]! - traffic[other * bins + b]! - 2 * between[other]!;
      if (sum > this.bestGain && sum < below && state.mayFit(item, b, other) && state.mayFit(other, a, item))
        this.note(sum, { item, bin: b, other });
    }
  }

  private note(gain: number, step: Step): void {
    this.best = step;
    this.bestGain = gain;
  }

  private weigh(item: number, sign: 0 | 1): void {
    const { first, other, rate_bps } = this.state.adjacency;
    for (let k = first[item]!; k < first[item + 1]!; k++) {
      const neighbour = other[k]!;
      this.between[neighbour] = sign === 0 ? 0 : this.between[neighbour]! + rate_bps[k]!;
    }
  }
}
