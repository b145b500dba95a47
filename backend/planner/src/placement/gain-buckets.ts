import type { Budget } from '../budget.js';
import type { PlacementState } from './state.js';

const BUCKETS = 512;
const NONE = -1;

interface Step {
  readonly gain: number;
  readonly bin: number;
  /** The item that takes its place; NONE for a move. */
  readonly other: number;
}

/**
 * Items in buckets by what they would gain by going to the server with which they have most traffic (Fiduccia and
 * Mattheyses 1982). The first item goes if it can, alone or in exchange for another, and only its neighbours are looked at
 * again: a step costs what the item's own flows and one server's items cost, whatever the graph's size.
 */
export class GainBuckets {
  private readonly bins: number;
  private readonly isMovable: Uint8Array;
  private readonly head = new Int32Array(BUCKETS).fill(NONE);
  private readonly next: Int32Array;
  private readonly before: Int32Array;
  private readonly bucket: Int32Array;
  private readonly between: Float64Array;
  private readonly scale: number;
  private top = NONE;

  constructor(
    private readonly state: PlacementState,
    movable: readonly number[],
    private readonly least: number,
  ) {
    const n = state.problem.items.length;
    this.bins = state.problem.bins.length;
    this.isMovable = new Uint8Array(n);
    for (const item of movable) this.isMovable[item] = 1;
    this.next = new Int32Array(n).fill(NONE);
    this.before = new Int32Array(n).fill(NONE);
    this.bucket = new Int32Array(n).fill(NONE);
    this.between = new Float64Array(n);
    const { first, rate_bps } = state.adjacency;
    let most = 0;
    for (let item = 0; item < n; item++) {
      let sum = 0;
      for (let k = first[item]!; k < first[item + 1]!; k++) sum += rate_bps[k]!;
      most = Math.max(most, sum);
    }
    this.scale = most > 0 ? (BUCKETS - 1) / most : 0;
  }

  /** Puts the item where its gain now belongs, or nowhere if it would gain nothing. */
  look(item: number): void {
    this.unlink(item);
    if (!this.isMovable[item]) return;
    const gain = this.mostGain(item);
    if (gain <= this.least) return;
    const bucket = Math.floor(gain * this.scale);
    this.bucket[item] = bucket;
    this.next[item] = this.head[bucket]!;
    if (this.head[bucket] !== NONE) this.before[this.head[bucket]!] = item;
    this.head[bucket] = item;
    if (bucket > this.top) this.top = bucket;
  }

  /** Improves until no item that was looked at gains, or the budget ends. Returns the steps left. */
  descend({ steps, expired }: Budget): number {
    let left = steps;
    for (let item = this.pop(); item !== NONE && left > 0 && !expired?.(); item = this.pop(), left--) {
      const other = this.improve(item);
      if (other === null) continue;
      this.lookAround(item);
      if (other !== NONE) this.lookAround(other);
    }
    return left;
  }

  lookAround(item: number): void {
    const { first, other } = this.state.adjacency;
    this.look(item);
    for (let k = first[item]!; k < first[item + 1]!; k++) this.look(other[k]!);
  }

  /** Forgets every item. */
  clear(): void {
    while (this.pop() !== NONE);
  }

  private mostGain(item: number): number {
    const { bins, state } = this;
    const at = state.bin[item]!;
    let most = 0;
    for (let b = 0; b < bins; b++) {
      if (b !== at && state.traffic[item * bins + b]! > most) most = state.traffic[item * bins + b]!;
    }
    return most - state.traffic[item * bins + at]!;
  }

  /** Takes the item's best step that overbooks nothing: the item it was exchanged for, NONE for a move, `null` for none. */
  private improve(item: number): number | null {
    this.weigh(item, 1);
    let done: number | null = null;
    for (let step = this.best(item, Number.POSITIVE_INFINITY); step && done === null; ) {
      const { gain, bin, other } = step;
      if (other === NONE ? this.state.tryMove(item, bin) : this.state.trySwap(item, other)) done = other;
      else step = this.best(item, gain);
    }
    this.weigh(item, 0);
    return done;
  }

  /** The item's step of the largest gain under `below`. */
  private best(item: number, below: number): Step | null {
    const { bins, state } = this;
    const a = state.bin[item]!;
    const home = state.traffic[item * bins + a]!;
    let best: Step | null = null;
    let bestGain = this.least;
    for (let b = 0; b < bins; b++) {
      const gain = state.traffic[item * bins + b]! - home;
      if (b === a || gain <= this.least) continue;
      if (gain > bestGain && gain < below && state.mayFit(item, b)) {
        best = { gain, bin: b, other: NONE };
        bestGain = gain;
      }
      for (const other of state.members[b]!) {
        const back = state.traffic[other * bins + a]! - state.traffic[other * bins + b]!;
        const sum = gain + back - 2 * this.between[other]!;
        if (sum <= bestGain || sum >= below || !this.isMovable[other]) continue;
        if (!state.mayFit(item, b, other) || !state.mayFit(other, a, item)) continue;
        best = { gain: sum, bin: b, other };
        bestGain = sum;
      }
    }
    return best;
  }

  private weigh(item: number, sign: 0 | 1): void {
    const { first, other, rate_bps } = this.state.adjacency;
    for (let k = first[item]!; k < first[item + 1]!; k++) {
      const neighbour = other[k]!;
      this.between[neighbour] = sign === 0 ? 0 : this.between[neighbour]! + rate_bps[k]!;
    }
  }

  private pop(): number {
    while (this.top >= 0 && this.head[this.top] === NONE) this.top--;
    if (this.top < 0) return NONE;
    const item = this.head[this.top]!;
    this.unlink(item);
    return item;
  }

  private unlink(item: number): void {
    const bucket = this.bucket[item]!;
    if (bucket === NONE) return;
    const [before, next] = [this.before[item]!, this.next[item]!];
    if (before === NONE) this.head[bucket] = next;
    else this.next[before] = next;
    if (next !== NONE) this.before[next] = before;
    this.before[item] = NONE;
    this.next[item] = NONE;
    this.bucket[item] = NONE;
  }
}
