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

/** Parts of the length of a bucket that its seconds are kept in. */
const PARTS = 60_000;
/** Buckets whose memory is taken at a time. */
const CHUNK = 288;

/** Some buckets side by side; seconds in parts. */
interface Chunk {
  readonly good: Uint16Array;
  readonly bad: Uint16Array;
  readonly measured: Uint16Array;
  readonly mean: Float32Array;
  readonly worst: Float32Array;
}

/** The latest buckets of one length: 14 bytes each, once something is known of them or their neighbours. What nobody judged is in none. */
export class BucketRing {
  private readonly chunks: (Chunk | undefined)[];
  private newest: number | null = null;
  private total = { good: 0, bad: 0 };
  /** Of seconds counted, what was less than a part. */
  private rest = { good: 0, bad: 0 };

  constructor(
    readonly lengthS: number,
    readonly capacity: number,
  ) {
    this.chunks = new Array(Math.ceil(capacity / CHUNK));
  }

  slotOf(ms: number): number {
    return Math.floor(ms / (1000 * this.lengthS));
  }

  /** Adds to the bucket what it has room for; one that has made way takes nothing. `isWorse`: than the worst so far. */
  add(slot: number, { good_s, bad_s, measured }: Portion, isWorse: (a: number, b: number) => boolean): void {
    this.advance(slot);
    if (!this.holds(slot)) return;
    const { chunk, at } = this.placeOf(slot);
    const room = PARTS - chunk.good[at]! - chunk.bad[at]!;
    const good = Math.min(room, this.partsOf('good', good_s));
    const bad = Math.min(room - good, this.partsOf('bad', bad_s));
    this.put(chunk, at, chunk.good[at]! + good, chunk.bad[at]! + bad);
    if (measured === null || good + bad === 0) return;
    const before = chunk.measured[at]!;
    const after = before + good + bad;
    chunk.mean[at] = (chunk.mean[at]! * before + measured * (good + bad)) / after;
    if (before === 0 || isWorse(measured, chunk.worst[at]!)) chunk.worst[at] = measured;
    chunk.measured[at] = after;
  }

  /** Puts back what was stored of a bucket. */
  restore({ slot, good_s, bad_s, measured_s, mean, worst }: Bucket): void {
    this.advance(slot);
    if (!this.holds(slot)) return;
    const { chunk, at } = this.placeOf(slot);
    const parts = (seconds: number, most: number) => Math.min(most, Math.round((seconds * PARTS) / this.lengthS));
    const good = parts(good_s, PARTS);
    this.put(chunk, at, good, parts(bad_s, PARTS - good));
    chunk.measured[at] = mean === null || worst === null ? 0 : parts(measured_s, PARTS);
    chunk.mean[at] = mean ?? 0;
    chunk.worst[at] = worst ?? 0;
  }

  /** Null: nothing is known of it. */
  bucket(slot: number): Bucket | null {
    if (!this.holds(slot)) return null;
    const index = slot % this.capacity;
    const chunk = this.chunks[Math.floor(index / CHUNK)];
    const at = index % CHUNK;
    if (!chunk || chunk.good[at]! + chunk.bad[at]! === 0) return null;
    const isMeasured = chunk.measured[at]! > 0;
    return {
      slot,
      good_s: this.secondsOf(chunk.good[at]!),
      bad_s: this.secondsOf(chunk.bad[at]!),
      measured_s: this.secondsOf(chunk.measured[at]!),
      mean: isMeasured ? chunk.mean[at]! : null,
      worst: isMeasured ? chunk.worst[at]! : null,
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
    let [good, bad] = [0, 0];
    if (this.newest === null) return { good_s: 0, bad_s: 0 };
    const until = Math.min(last, this.newest);
    for (let slot = Math.max(first, this.newest - this.capacity + 1, 0); slot <= until; slot++) {
      const index = slot % this.capacity;
      const chunk = this.chunks[Math.floor(index / CHUNK)];
      good += chunk?.good[index % CHUNK] ?? 0;
      bad += chunk?.bad[index % CHUNK] ?? 0;
    }
    return { good_s: this.secondsOf(good), bad_s: this.secondsOf(bad) };
  }

  /** Of all buckets that are kept at this time. */
  sumAt(slot: number): Judged {
    this.advance(slot);
    return { good_s: this.secondsOf(this.total.good), bad_s: this.secondsOf(this.total.bad) };
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
      const index = next % this.capacity;
      const chunk = this.chunks[Math.floor(index / CHUNK)];
      if (!chunk) continue;
      this.put(chunk, index % CHUNK, 0, 0);
      chunk.measured[index % CHUNK] = 0;
    }
    this.newest = Math.max(this.newest, slot);
  }

  private placeOf(slot: number): { readonly chunk: Chunk; readonly at: number } {
    const index = slot % this.capacity;
    const number = Math.floor(index / CHUNK);
    this.chunks[number] ??= {
      good: new Uint16Array(CHUNK),
      bad: new Uint16Array(CHUNK),
      measured: new Uint16Array(CHUNK),
      mean: new Float32Array(CHUNK),
      worst: new Float32Array(CHUNK),
    };
    return { chunk: this.chunks[number], at: index % CHUNK };
  }

  /** Whole parts; what is left counts with the next ones. */
  private partsOf(of: 'good' | 'bad', seconds: number): number {
    if (seconds === 0) return 0;
    const all = (seconds * PARTS) / this.lengthS + this.rest[of];
    // A part less than whole by the error of a sum is whole.
    const parts = Math.floor(all + 1e-6);
    this.rest[of] = all - parts;
    return parts;
  }

  private secondsOf(parts: number): number {
    return (parts * this.lengthS) / PARTS;
  }

  private put(chunk: Chunk, at: number, good: number, bad: number): void {
    this.total.good += good - chunk.good[at]!;
    this.total.bad += bad - chunk.bad[at]!;
    chunk.good[at] = good;
    chunk.bad[at] = bad;
  }
}
