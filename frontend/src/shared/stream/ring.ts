/** Times that fall by more than this come from a clock that was set back, not from points out of order. */
export const SET_BACK_MS = 1000;

/** Without a point for this long, a series has a gap: the line ends, and the last value is no longer its value. */
export const GAP_MS = 3000;

/** Last points of a series, oldest first; a full ring forgets its oldest point. Times ascend. */
export class Ring {
  readonly #times: Float64Array;
  readonly #values: Float64Array;
  #start = 0;
  #length = 0;
  /** Counts changes, for cheap comparison. */
  version = 0;

  constructor(readonly capacity: number) {
    this.#times = new Float64Array(capacity);
    this.#values = new Float64Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /**
   * A point that is not newer than the last one is ignored; one that is older by more than `SET_BACK_MS` begins the series anew,
   * because its clock was set back.
   */
  push(t_ms: number, value: number): boolean {
    const behind_ms = this.#length > 0 ? this.timeAt(this.#length - 1) - t_ms : Number.NEGATIVE_INFINITY;
    if (behind_ms > SET_BACK_MS) this.#length = 0;
    else if (behind_ms >= 0) return false;
    const at = (this.#start + this.#length) % this.capacity;
    this.#times[at] = t_ms;
    this.#values[at] = value;
    if (this.#length < this.capacity) this.#length++;
    else this.#start = (this.#start + 1) % this.capacity;
    this.version++;
    return true;
  }

  timeAt(index: number): number {
    return this.#times[(this.#start + index) % this.capacity]!;
  }

  valueAt(index: number): number {
    return this.#values[(this.#start + index) % this.capacity]!;
  }

  /** First and last index of each run of points without a gap in it, from an index on. */
  runs(from = 0): [first: number, last: number][] {
    const runs: [number, number][] = [];
    for (let index = from; index < this.#length; index++) {
      const run = runs.at(-1);
      if (run && this.timeAt(index) - this.timeAt(run[1]) <= GAP_MS) run[1] = index;
      else runs.push([index, index]);
    }
    return runs;
  }

  points(): [number, number][] {
    return Array.from({ length: this.#length }, (_, index) => [this.timeAt(index), this.valueAt(index)]);
  }
}
