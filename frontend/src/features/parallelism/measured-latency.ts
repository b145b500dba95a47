import { BUCKET_WIDTH } from '@orrery/contract';

/** Latency of a chain over some time, as measured where its packets leave: of the percentiles of each second. */
export interface MeasuredLatency {
  /** Median. */
  readonly p50_us: number;
  /** The middle half of the medians of the seconds. */
  readonly p50_low_us: number;
  readonly p50_high_us: number;
  /** Median of the 99th percentiles. */
  readonly p99_us: number;
}

/** Samples of five seconds: the spread of fewer tells nothing. */
const LEAST_SAMPLES = 25;

/** What samples of median and 99th percentile tell; null: there are too few. */
export function latencyIn(p50s_us: readonly number[], p99s_us: readonly number[]): MeasuredLatency | null {
  if (p50s_us.length < LEAST_SAMPLES || p99s_us.length < LEAST_SAMPLES) return null;
  return {
    p50_us: rankedAt(0.5, p50s_us),
    p50_low_us: rankedAt(0.25, p50s_us),
    p50_high_us: rankedAt(0.75, p50s_us),
    p99_us: rankedAt(0.5, p99s_us),
  };
}

/** Precondition: there are values. */
function rankedAt(share: number, values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))]!;
}

/**
 * Whether two medians differ by more than noise: the middle halves of their samples do not overlap, and they are more than one
 * bucket of the agents' histograms apart, below which a percentile is not known.
 */
export function differ(a: MeasuredLatency, b: MeasuredLatency): boolean {
  const overlap = a.p50_low_us <= b.p50_high_us && b.p50_low_us <= a.p50_high_us;
  const most_us = Math.max(a.p50_us, b.p50_us);
  return !overlap && Math.abs(a.p50_us - b.p50_us) > BUCKET_WIDTH * most_us;
}
