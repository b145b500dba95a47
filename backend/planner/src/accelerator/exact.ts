import type { Budget } from '../budget.js';
import { cheapestShare } from './bounds.js';
import { costOf, type PackingModel, roundedUp, TOLERANCE } from './model.js';
import type { OpenDevice } from './problem.js';

/** Above this many demands sets of them no longer fit the memory of the search. */
export const MAX_EXACT_DEMANDS = 24;

interface ExactPacking {
  /** The cheapest packing found; `null`: none. */
  readonly devices: OpenDevice[] | null;
  /** Whether the search completed: the packing is then optimal, or none exists. */
  readonly complete: boolean;
}

/**
 * Searches all packings below the cost of `known`: the largest demand left opens a device of each type, filled in every
 * way to which no further demand can be added (a packing stays one when a demand moves to where it fits beside others).
 */
export function exactPacking(model: PackingModel, known: readonly OpenDevice[] | null, budget: Budget): ExactPacking {
  if (model.n > MAX_EXACT_DEMANDS) return { devices: known && [...known], complete: false };
  const search = new Exhaustion(model, known, budget);
  search.run();
  return { devices: search.best && [...search.best], complete: !search.stopped };
}

class Exhaustion {
  best: readonly OpenDevice[] | null;
  stopped = false;
  private steps = 0;
  private readonly order: number[];
  private readonly left: Int32Array;
  private readonly path: OpenDevice[] = [];
  private readonly shares: Float64Array;
  private bestCost: number;
  /** Open demands with devices left, which tell what was paid. */
  private readonly seen = new Set<string>();

  constructor(
    private readonly model: PackingModel,
    known: readonly OpenDevice[] | null,
    private readonly budget: Budget,
  ) {
    const { n, d } = model;
    this.best = known;
    this.bestCost = known ? costOf(model, known) : Number.POSITIVE_INFINITY;
    this.left = model.count.slice();
    this.shares = new Float64Array(n * d);
    for (let i = 0; i < n; i++) for (let k = 0; k < d; k++) this.shares[i * d + k] = cheapestShare(model, i, k);
    const size = (i: number) => this.shares.subarray(i * d, (i + 1) * d).reduce((a, b) => a + b, 0);
    this.order = Array.from({ length: n }, (_, i) => i).sort((a, b) => size(b) - size(a) || a - b);
  }

  run(): void {
    this.next(2 ** this.model.n - 1, 0);
  }

  /** `mask`: bit p is set while demand `order[p]` is open. */
  private next(mask: number, paid: number): void {
    if (mask === 0) {
      if (paid < this.bestCost - 1e-9) {
        this.bestCost = paid;
        this.best = [...this.path];
      }
      return;
    }
    if (this.isSpent() || paid + this.least(mask) >= this.bestCost - 1e-9) return;
    const key = `${mask} ${this.left.join()}`;
    if (this.seen.has(key)) return;
    this.seen.add(key);
    const first = 31 - Math.clz32(mask & -mask);
    for (let t = 0; t < this.model.m; t++) {
      if (this.left[t]! <= 0 || !this.model.fits[t * this.model.n + this.order[first]!]) continue;
      this.left[t]!--;
      const used = new Float64Array(this.model.d);
      this.add(t, first, used);
      this.fill(t, mask & ~(1 << first), mask & ~(1 << first), first + 1, used, [this.order[first]!], paid);
      this.left[t]!++;
    }
  }

  /** Takes or leaves each open demand from `from` on; `open` are all, `rest` those not taken. */
  private fill(
    type: number,
    open: number,
    rest: number,
    from: number,
    used: Float64Array,
    taken: readonly number[],
    paid: number,
  ): void {
    let p = from;
    while (p < this.model.n && !((open >> p) & 1 && this.hasRoom(type, p, used))) p++;
    if (this.isSpent()) return;
    if (p >= this.model.n) {
      for (let q = 0; q < from; q++) if ((rest >> q) & 1 && this.hasRoom(type, q, used)) return;
      this.path.push({ type, demands: taken });
      this.next(rest, paid + this.model.cost[type]!);
      this.path.pop();
      return;
    }
    const more = used.slice();
    this.add(type, p, more);
    this.fill(type, open, rest & ~(1 << p), p + 1, more, [...taken, this.order[p]!], paid);
    this.fill(type, open, rest, p + 1, used, taken, paid);
  }

  private hasRoom(type: number, p: number, used: Float64Array): boolean {
    const { n, d, need, fits } = this.model;
    const item = this.order[p]!;
    if (!fits[type * n + item]) return false;
    for (let k = 0; k < d; k++) if (used[k]! + need[(type * n + item) * d + k]! > 1 + TOLERANCE) return false;
    return true;
  }

  private add(type: number, p: number, used: Float64Array): void {
    const { n, d, need } = this.model;
    for (let k = 0; k < d; k++) used[k]! += need[(type * n + this.order[p]!) * d + k]!;
  }

  /** No packing of the open demands costs less. */
  private least(mask: number): number {
    const { n, d, grain } = this.model;
    let bound = 0;
    for (let k = 0; k < d; k++) {
      let sum = 0;
      for (let p = 0; p < n; p++) if ((mask >> p) & 1) sum += this.shares[this.order[p]! * d + k]!;
      bound = Math.max(bound, sum);
    }
    return roundedUp(bound, grain);
  }

  private isSpent(): boolean {
    if (++this.steps > this.budget.steps || (this.steps % 1024 === 0 && (this.budget.expired?.() ?? false)))
      this.stopped = true;
    return this.stopped;
  }
}
