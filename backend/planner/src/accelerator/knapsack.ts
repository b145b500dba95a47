import { type Budget, Spending } from '../budget.js';
import { type PackingModel, TOLERANCE } from './model.js';

interface KnapsackAnswer {
  readonly demands: readonly number[];
  readonly value: number;
  /** Upper bound on the value of any set of demands that fits. */
  readonly upper: number;
}

/** Values below this are negligible. */
const WORTHLESS = 1e-9;

/**
 * The demands worth most that fit one device of a type: depth first by worth per weighted need, where the weights of the
 * dimensions are those that bound best at the start. Stops when the budget ends; `upper` holds all the same. A step is one
 * demand that is tried.
 */
export function bestContent(
  model: PackingModel,
  type: number,
  worth: ArrayLike<number>,
  budget: Budget,
  without?: Uint8Array,
): KnapsackAnswer {
  return new Knapsack(model, type, worth, budget, without).run();
}

class Knapsack {
  private readonly items: Int32Array;
  private readonly value: Float64Array;
  /** Weighted need, and need by dimension, in the order of `items`. */
  private readonly weight: Float64Array;
  private readonly need: Float64Array;
  private readonly dual: Float64Array;
  private readonly free: Float64Array;
  private readonly taken: Int32Array;
  /** The least that any demand needs, by dimension. */
  private readonly least: Float64Array;
  private best = 0;
  private chosen: number[] = [];
  private upper = 0;
  private readonly spending: Spending;

  constructor(
    model: PackingModel,
    type: number,
    worth: ArrayLike<number>,
    budget: Budget,
    without: Uint8Array | undefined,
  ) {
    this.spending = new Spending(budget);
    const { n } = model;
    const needIn = (i: number, k: number) => model.need[(type * n + i) * model.d + k]!;
    const open: number[] = [];
    for (let i = 0; i < n; i++) if (model.fits[type * n + i] && worth[i]! > WORTHLESS && !without?.[i]) open.push(i);
    const part = 1 / mostAtOnce(open, needIn, model.d);
    const needOf = (i: number, k: number) => (k < model.d ? needIn(i, k) : part);
    const d = model.d + 1;
    this.dual = bestWeights(open, worth, needOf, d);
    const weightOf = (i: number) => {
      let sum = 0;
      for (let k = 0; k < d; k++) sum += this.dual[k]! * needOf(i, k);
      return Math.max(sum, 1e-12);
    };
    const sorted = open
      .map((i) => ({ i, weight: weightOf(i) }))
      .sort((a, b) => worth[b.i]! / b.weight - worth[a.i]! / a.weight || a.i - b.i);
    this.items = Int32Array.from(sorted, ({ i }) => i);
    this.weight = Float64Array.from(sorted, ({ weight }) => weight);
    this.value = Float64Array.from(sorted, ({ i }) => worth[i]!);
    this.need = new Float64Array(sorted.length * d);
    sorted.forEach(({ i }, p) => {
      for (let k = 0; k < d; k++) this.need[p * d + k] = needOf(i, k);
    });
    this.least = new Float64Array(d).fill(Number.POSITIVE_INFINITY);
    for (let x = 0; x < this.need.length; x++) this.least[x % d] = Math.min(this.least[x % d]!, this.need[x]!);
    this.free = new Float64Array((sorted.length + 1) * d).fill(1 + TOLERANCE, 0, d);
    this.taken = new Int32Array(sorted.length);
  }

  run(): KnapsackAnswer {
    this.extend(0, 0, 0);
    const upper = Math.max(this.upper, this.best) * (1 + 1e-12) + 1e-12;
    return { demands: this.chosen.map((p) => this.items[p]!), value: this.best, upper };
  }

  private extend(from: number, depth: number, sum: number): void {
    const d = this.dual.length;
    const here = depth * d;
    let room = 0;
    for (let k = 0; k < d; k++) {
      if (this.free[here + k]! < this.least[k]!) return;
      room += this.dual[k]! * this.free[here + k]!;
    }
    for (let p = from; p < this.items.length; p++) {
      const most = sum + this.bound(p, room);
      if (most <= this.best + 1e-11) return;
      if (!this.spending.spend()) {
        this.upper = Math.max(this.upper, most);
        return;
      }
      if (!this.take(p, here)) continue;
      this.taken[depth] = p;
      const total = sum + this.value[p]!;
      if (total > this.best) {
        this.best = total;
        this.chosen = [...this.taken.subarray(0, depth + 1)];
      }
      this.extend(p + 1, depth + 1, total);
    }
  }

  private take(p: number, here: number): boolean {
    const d = this.dual.length;
    for (let k = 0; k < d; k++) {
      const left = this.free[here + k]! - this.need[p * d + k]!;
      if (left < 0) return false;
      this.free[here + d + k] = left;
    }
    return true;
  }

  /** What demands from `p` on are worth at most in the weighted room, the last in part (Dantzig 1957). */
  private bound(p: number, room: number): number {
    let sum = 0;
    let left = room;
    for (let q = p; q < this.items.length; q++) {
      const weight = this.weight[q]!;
      if (weight > left) return sum + (this.value[q]! * left) / weight;
      sum += this.value[q]!;
      left -= weight;
    }
    return sum;
  }
}

/**
 * No more demands than this fit together: as many as the least of them, by any dimension or by the mean of all. It counts
 * as one more dimension, without which demands of like size are hard to tell apart.
 */
function mostAtOnce(open: readonly number[], needIn: (item: number, dimension: number) => number, d: number): number {
  let most = Math.max(1, open.length);
  for (let k = 0; k <= d; k++) {
    const sizes = Float64Array.from(open, (i) => {
      if (k < d) return needIn(i, k);
      let sum = 0;
      for (let j = 0; j < d; j++) sum += needIn(i, j);
      return sum / d;
    }).sort();
    let room = 1 + 2 * TOLERANCE;
    let count = 0;
    while (count < sizes.length && sizes[count]! <= room) room -= sizes[count++]!;
    most = Math.min(most, Math.max(1, count));
  }
  return most;
}

/** Weights of the dimensions, 1 in sum, under which the relaxed knapsack is worth least. */
function bestWeights(
  open: readonly number[],
  worth: ArrayLike<number>,
  needOf: (item: number, dimension: number) => number,
  d: number,
): Float64Array {
  const relaxed = (weights: Float64Array) => {
    const rows = open.map((i) => {
      let weight = 0;
      for (let k = 0; k < d; k++) weight += weights[k]! * needOf(i, k);
      return { value: worth[i]!, weight: Math.max(weight, 1e-12) };
    });
    rows.sort((a, b) => b.value / b.weight - a.value / a.weight);
    let left = 1;
    let sum = 0;
    for (const { value, weight } of rows) {
      if (weight > left) return sum + (value * left) / weight;
      sum += value;
      left -= weight;
    }
    return sum;
  };
  let weights = new Float64Array(d).fill(1 / d);
  let least = relaxed(weights);
  for (let step = 0.25; step > 0.01; step /= 2) {
    for (let a = 0; a < d; a++) {
      for (let b = 0; b < d; b++) {
        const moved = Math.min(step, weights[a]!);
        if (a === b || moved <= 0) continue;
        const next = weights.slice();
        next[a]! -= moved;
        next[b]! += moved;
        const bound = relaxed(next);
        if (bound >= least) continue;
        least = bound;
        weights = next;
      }
    }
  }
  return weights;
}
