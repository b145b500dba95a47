import { type Bucket, BucketRing, type Judged } from './bucket-ring.js';

export const FINE_S = 10;
export const COARSE_S = 300;
/** Longest window that is judged to the fine bucket. */
export const FINE_KEPT_S = 6 * 3600;
/** Good buckets between bad ones that do not end a violation. */
const GAP_BUCKETS = 3;

export type Verdict = 'good' | 'bad' | 'unknown';

/** Of which measurements one is worse: of a latency the higher, of a throughput the lower. */
export type Worse = (a: number, b: number) => boolean;

/**
 * The seconds of an objective: those of the last hours in fine buckets, those of its period in coarse ones. Times are those of
 * the wall clock; where it goes back, seconds count as of the newest bucket. What no verdict was given for is unknown.
 */
export class SecondsHistory {
  readonly fine = new BucketRing(FINE_S, FINE_KEPT_S / FINE_S + 1);
  readonly coarse: BucketRing;

  constructor(
    readonly period_s: number,
    private readonly isWorse: Worse,
  ) {
    this.coarse = new BucketRing(COARSE_S, Math.ceil(period_s / COARSE_S) + 1);
  }

  /** The verdict on the seconds before now. */
  record(verdict: Verdict, seconds: number, measured: number | null, nowMs: number): void {
    const slot = Math.max(this.fine.slotOf(nowMs), this.fine.last ?? 0);
    const sinceBoundary = Math.max(0, nowMs / 1000 - slot * FINE_S);
    const here = Math.min(seconds, sinceBoundary);
    this.add(slot - 1, verdict, seconds - here, measured);
    this.add(slot, verdict, here, measured);
  }

  /** Of the fine buckets that overlap the last seconds: of so many, or up to a bucket more. */
  over(seconds: number, nowMs: number): Judged {
    return this.fine.sum(this.fine.slotOf(nowMs - 1000 * seconds), this.fine.slotOf(nowMs));
  }

  /** Of the coarse buckets that overlap the period. */
  overPeriod(nowMs: number): Judged {
    return this.coarse.sumAt(this.coarse.slotOf(nowMs));
  }

  /** When the last violation began, to the fine bucket; null: there was none in the last hours. */
  violatedSinceMs(): number | null {
    let at = this.fine.last;
    if (at === null) return null;
    const oldest = at - this.fine.capacity;
    const isBad = (slot: number) => (this.fine.bucket(slot)?.bad_s ?? 0) > 0;
    while (at > oldest && !isBad(at)) at--;
    if (at <= oldest) return null;
    let began = at;
    for (let slot = at - 1; slot > oldest && began - slot <= GAP_BUCKETS; slot--) if (isBad(slot)) began = slot;
    return began * FINE_S * 1000;
  }

  /** What is kept of it in one for another period. */
  withPeriod(period_s: number): SecondsHistory {
    const next = new SecondsHistory(period_s, this.isWorse);
    for (const [from, to] of [[this.fine, next.fine] as const, [this.coarse, next.coarse] as const])
      for (const bucket of from.buckets()) to.restore(bucket);
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
