/** What is kept of one bucket of time. */
export interface Bucket {
  /** Time since the epoch over the length of a bucket, rounded down. */
  readonly slot: number;
  readonly good_s: number;
  readonly bad_s: number;
  /** For how much of the bucket something was measured. */
  readonly measured_s: number;
  readonly mean: number | null;
  readonly worst: number | null;
}

/** Seconds in which an objective was met and missed. */
export interface Judged {
  readonly good_s: number;
  readonly bad_s: number;
}

/** What is added to a bucket at a time. */
export interface Portion extends Judged {
  readonly measured: number | null;
}

/** The latest buckets of one length. What nobody judged is in none of them. */
export class BucketRing {
  private readonly good: Float64Array;
  private readonly bad: Float64Array;
  private readonly measuredS: Float32Array;
  private readonly mean: Float64Array;
  private readonly worst: Float64Array;
  private newest: number | null = null;
  private total = { good_s: 0, bad_s: 0 };

  constructor(
    readonly lengthS: number,
    readonly capacity: number,
  ) {
    this.good = new Float64Array(capacity);
    this.bad = new Float64Array(capacity);
    this.measuredS = new Float32Array(capacity);
    this.mean = new Float64Array(capacity);
    this.worst = new Float64Array(capacity);
  }

  slotOf(ms: number): number {
    return Math.floor(ms / (1000 * this.lengthS));
  }

  /** Adds to the bucket what it has room for; one that has made way takes nothing. `isWorse`: than the worst so far. */
  add(slot: number, { good_s, bad_s, measured }: Portion, isWorse: (a: number, b: number) => boolean): void {
    this.advance(slot);
    if (!this.holds(slot)) return;
    const at = slot % this.capacity;
    const seconds = good_s + bad_s;
    const room = Math.max(0, this.lengthS - this.good[at]! - this.bad[at]!);
    const part = seconds > room ? room / seconds : 1;
    this.put(at, this.good[at]! + part * good_s, this.bad[at]! + part * bad_s);
    if (measured === null || seconds === 0) return;
    const before = this.measuredS[at]!;
    const after = before + seconds;
    this.mean[at] = (this.mean[at]! * before + measured * seconds) / after;
    if (before === 0 || isWorse(measured, this.worst[at]!)) this.worst[at] = measured;
    this.measuredS[at] = after;
  }

  /** Puts back what was stored of a bucket. */
  restore({ slot, good_s, bad_s, measured_s, mean, worst }: Bucket): void {
    this.advance(slot);
    if (!this.holds(slot)) return;
    const at = slot % this.capacity;
    this.put(at, good_s, bad_s);
    this.measuredS[at] = mean === null || worst === null ? 0 : measured_s;
    this.mean[at] = mean ?? 0;
    this.worst[at] = worst ?? 0;
  }

  /** Null: nothing is known of it. */
  bucket(slot: number): Bucket | null {
    if (!this.holds(slot)) return null;
    const at = slot % this.capacity;
    const [good_s, bad_s, measured_s] = [this.good[at]!, this.bad[at]!, this.measuredS[at]!];
    if (good_s + bad_s === 0) return null;
    const isMeasured = measured_s > 0;
    return {
      slot,
      good_s,
      bad_s,
      measured_s,
      mean: isMeasured ? this.mean[at]! : null,
      worst: isMeasured ? this.worst[at]! : null,
    };
  }

  /** Those of which something is known, the oldest first. */
  *buckets(): Iterable<Bucket> {
    if (this.newest === null) return;
    for (let slot = Math.max(0, this.newest - this.capacity + 1); slot <= this.newest; slot++) {
      const bucket = this.bucket(slot);
      if (bucket) yield bucket;
    }
  }

  /** From the first slot to the last one, both included. */
  sum(first: number, last: number): Judged {
    const sum = { good_s: 0, bad_s: 0 };
    if (this.newest === null) return sum;
    const until = Math.min(last, this.newest);
    for (let slot = Math.max(first, this.newest - this.capacity + 1, 0); slot <= until; slot++) {
      sum.good_s += this.good[slot % this.capacity]!;
      sum.bad_s += this.bad[slot % this.capacity]!;
    }
    return sum;
  }

  /** Of all buckets that are kept at this time. */
  sumAt(slot: number): Judged {
    this.advance(slot);
    return { ...this.total };
  }

  /** The newest bucket; null: there is none. */
  get last(): number | null {
    return this.newest;
  }

  private holds(slot: number): boolean {
    return this.newest !== null && slot >= 0 && slot <= this.newest && slot > this.newest - this.capacity;
  }

  /** Clears what makes way. */
  private advance(slot: number): void {
    if (this.newest === null) this.newest = slot;
    const from = Math.max(this.newest + 1, slot - this.capacity + 1);
    for (let next = from; next <= slot; next++) {
      const at = next % this.capacity;
      this.put(at, 0, 0);
      this.measuredS[at] = 0;
    }
    this.newest = Math.max(this.newest, slot);
  }

  private put(at: number, good_s: number, bad_s: number): void {
    this.total.good_s += good_s - this.good[at]!;
    this.total.bad_s += bad_s - this.bad[at]!;
    this.good[at] = good_s;
    this.bad[at] = bad_s;
  }
}
