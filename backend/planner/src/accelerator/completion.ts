import { type PackingModel, TOLERANCE } from './model.js';

/** Finds the best completion of a device with its first demand: depth first, at most `limit` steps (Korf 2002). */
export class Completer {
  /** The demands of the best completion, the first included. */
  readonly chosen: Int32Array;
  chosenCount = 0;
  /** Steps taken since the start. */
  steps = 0;
  private readonly stack: Int32Array;
  private readonly free: Float64Array;
  private best = 0;
  private stop = 0;
  private ratio = 1;

  constructor(
    private readonly model: PackingModel,
    /** Value per unit of each dimension. */
    private readonly weight: Float64Array,
  ) {
    this.chosen = new Int32Array(model.n);
    this.stack = new Int32Array(model.n);
    this.free = new Float64Array((model.n + 1) * model.d);
  }

  /**
   * Fills a device of a type that holds `first` with some of `open` (in order of falling value) for the largest value.
   * `ratio`: no value exceeds the demand's weighted need times it.
   */
  complete(
    type: number,
    first: number,
    open: Int32Array,
    openCount: number,
    value: Float64Array,
    ratio: number,
    limit: number,
  ): number {
    const { n, d, need } = this.model;
    const base = type * n;
    for (let k = 0; k < d; k++) this.free[k] = 1 - need[(base + first) * d + k]!;
    this.stack[0] = first;
    this.chosen[0] = first;
    this.chosenCount = 1;
    this.best = value[first]!;
    this.ratio = ratio;
    this.stop = this.steps + limit;
    this.extend(base, 0, 1, value[first]!, open, openCount, value);
    return this.best;
  }

  private extend(
    base: number,
    from: number,
    depth: number,
    sum: number,
    open: Int32Array,
    openCount: number,
    value: Float64Array,
  ): void {
    const { d, need, fits } = this.model;
    const here = (depth - 1) * d;
    let room = 0;
    for (let k = 0; k < d; k++) room += this.weight[k]! * this.free[here + k]!;
    const most = sum + room * this.ratio;
    for (let p = from; p < openCount; p++) {
      if (most <= this.best + 1e-12 || this.steps >= this.stop) return;
      this.steps++;
      const item = open[p]!;
      if (!fits[base + item]) continue;
      const at = (base + item) * d;
      let fit = true;
      for (let k = 0; k < d; k++) {
        const left = this.free[here + k]! - need[at + k]!;
        this.free[here + d + k] = left;
        if (left < -TOLERANCE) {
          fit = false;
          break;
        }
      }
      if (!fit) continue;
      this.stack[depth] = item;
      const total = sum + value[item]!;
      if (total > this.best) {
        this.best = total;
        this.chosenCount = depth + 1;
        for (let q = 0; q <= depth; q++) this.chosen[q] = this.stack[q]!;
      }
      this.extend(base, p + 1, depth + 1, total, open, openCount, value);
    }
  }
}
