import { type Bucket, BucketRing, type Judged } from './bucket-ring.js';

export const FINE_S = 10;
export const COARSE_S = 300;
/** Longest window that is judged to the fine bucket. */
const FINE_KEPT_S = 6 * 3600;
/** Who asks for all of it may come so much later than he looked at the clock. */
const SPARE_S = 60;
/** Good buckets between bad ones that do not end a violation. */
const GAP_BUCKETS = 3;

const FINE_BUCKETS = (FINE_KEPT_S + SPARE_S) / FINE_S + 1;
const coarseBuckets = (periodS: number) => Math.ceil(periodS / COARSE_S) + 1;

/** Buckets that the history of an objective has, once all of it is known. */
export const bucketsOf = (periodS: number) => FINE_BUCKETS + coarseBuckets(periodS);

export type Verdict = 'good' | 'bad' | 'unknown';

/** Of which measurements one is worse: of a latency the higher, of a throughput the lower. */
export type Worse = (a: number, b: number) => boolean;

export interface Violation {
  readonly began_ms: number;
  /** When it was first seen: what happens later may be done about it. */
  readonly seen_ms: number;
}

/**
 * The seconds of an objective: those of the last hours in fine buckets, those of its period in coarse ones. Times are of a clock
 * that does not jump (HistoryClock). What no verdict was given for is unknown.
 */
export class SecondsHistory {
  readonly fine = new BucketRing(FINE_S, FINE_BUCKETS);
  readonly coarse: BucketRing;
  /** Seconds of good and bad verdicts since this server began. */
  judged_s = 0;
  /** The last violation that this server saw begin. */
  private seen: (Violation & { readonly last_ms: number }) | null = null;

  constructor(
    readonly period_s: number,
    private readonly isWorse: Worse,
  ) {
    this.coarse = new BucketRing(COARSE_S, coarseBuckets(period_s));
  }

  /** The verdict on the seconds before now. */
  record(verdict: Verdict, seconds: number, measured: number | null, nowMs: number): void {
    const last = Math.max(this.fine.slotOf(nowMs), this.fine.last ?? 0);
    // A time before the newest bucket has none of it, but the verdict counts: in the one before.
    const endS = Math.max(nowMs / 1000, last * FINE_S);
    const first = Math.floor((endS - seconds) / FINE_S);
    for (let slot = first; slot <= last; slot++) {
      const [from, to] = [Math.max(slot * FINE_S, endS - seconds), Math.min((slot + 1) * FINE_S, endS)];
      this.add(slot, verdict, to - from, measured);
    }
    if (verdict !== 'unknown') this.judged_s += seconds;
    if (verdict !== 'bad') return;
    const isOn = this.seen && nowMs - this.seen.last_ms <= 1000 * FINE_S * GAP_BUCKETS;
    this.seen = { ...(isOn ? this.seen! : { began_ms: nowMs - 1000 * seconds, seen_ms: nowMs }), last_ms: nowMs };
  }

  /** Of the fine buckets that overlap the last seconds: of so many, or up to a bucket more. */
  over(seconds: number, nowMs: number): Judged {
    return this.fine.sum(this.fine.slotOf(nowMs - 1000 * seconds), this.fine.slotOf(nowMs));
  }

  /** Of the coarse buckets that overlap the period. */
  overPeriod(nowMs: number): Judged {
    return this.coarse.sumAt(this.coarse.slotOf(nowMs));
  }

  /** The last violation: to the second, or to the fine bucket where another server saw it begin. Null: there was none in the last hours. */
  violation(): Violation | null {
    let at = this.fine.last;
    if (at === null) return null;
    const oldest = at - this.fine.capacity;
    const isBad = (slot: number) => (this.fine.bucket(slot)?.bad_s ?? 0) > 0;
    while (at > oldest && !isBad(at)) at--;
    if (at <= oldest) return null;
    let began = at;
    for (let slot = at - 1; slot > oldest && began - slot <= GAP_BUCKETS; slot--) if (isBad(slot)) began = slot;
    const began_ms = began * FINE_S * 1000;
    const seen_ms = began_ms + FINE_S * 1000;
    if (this.seen && this.seen.began_ms < seen_ms) return { began_ms: this.seen.began_ms, seen_ms: this.seen.seen_ms };
    return { began_ms, seen_ms };
  }

  /** The last violation that this server saw begin; null: none. */
  get lastSeen(): Violation | null {
    return this.seen;
  }

  /** What is kept of it in one for another period. */
  withPeriod(period_s: number): SecondsHistory {
    const next = new SecondsHistory(period_s, this.isWorse);
    for (const [from, to] of [[this.fine, next.fine] as const, [this.coarse, next.coarse] as const])
      for (const bucket of from.buckets()) to.restore(bucket);
    next.judged_s = this.judged_s;
    next.seen = this.seen;
    return next;
  }

  /** Buckets as one of this slot. */
  sumOf(slot: number, parts: readonly Bucket[]): Bucket {
    const total = (of: (part: Bucket) => number) => parts.reduce((sum, part) => sum + of(part), 0);
    const measured_s = total((part) => part.measured_s);
    const worsts = parts.flatMap(({ worst }) => worst ?? []);
    return {
      slot,
      good_s: total(({ good_s }) => good_s),
      bad_s: total(({ bad_s }) => bad_s),
      measured_s,
      mean: measured_s > 0 ? total((part) => (part.mean ?? 0) * part.measured_s) / measured_s : null,
      worst: worsts.length > 0 ? worsts.reduce((a, b) => (this.isWorse(b, a) ? b : a)) : null,
    };
  }

  private add(slot: number, verdict: Verdict, seconds: number, measured: number | null): void {
    if (seconds <= 0 || verdict === 'unknown' || slot < 0) return;
    const portion = { good_s: verdict === 'good' ? seconds : 0, bad_s: verdict === 'bad' ? seconds : 0, measured };
    this.fine.add(slot, portion, this.isWorse);
    this.coarse.add(Math.floor((slot * FINE_S) / COARSE_S), portion, this.isWorse);
  }
}
