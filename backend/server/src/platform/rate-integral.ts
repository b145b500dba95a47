/** How long rates are kept. */
export const KEEP_MS = 15_000;
/** A first rate, or one after a gap, stands for this time at most. */
const LONGEST_INTERVAL_MS = 2000;

interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
  readonly perS: number;
}

/** The amount behind a rate that is reported from time to time; times are of one clock. */
export class RateIntegral {
  private intervals: Interval[] = [];

  /** When the last rate was reported. */
  get untilMs(): number {
    return this.intervals.at(-1)?.toMs ?? Number.NEGATIVE_INFINITY;
  }

  /** The rate that held from the last report to this one. */
  take(perS: number, nowMs: number): void {
    const fromMs = Math.max(this.untilMs, nowMs - LONGEST_INTERVAL_MS);
    this.intervals.push({ fromMs, toMs: nowMs, perS });
    while (this.intervals[0] && this.intervals[0].toMs < nowMs - KEEP_MS) this.intervals.shift();
  }

  /** How long after `fromMs` the rate is known. */
  secondsSince(fromMs: number): number {
    return this.intervals.reduce(
      (sum, interval) => sum + Math.max(0, interval.toMs - Math.max(fromMs, interval.fromMs)) / 1000,
      0,
    );
  }

  /** The amount between two times; an interval that is partly between them counts in proportion. */
  between(fromMs: number, toMs: number): number {
    return this.intervals.reduce((sum, interval) => {
      const seconds = (Math.min(toMs, interval.toMs) - Math.max(fromMs, interval.fromMs)) / 1000;
      return seconds > 0 ? sum + interval.perS * seconds : sum;
    }, 0);
  }
}
