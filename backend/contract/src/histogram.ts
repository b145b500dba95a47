import type { SparseHistogram } from './telemetry.js';

const SUB_BITS = 4;
const SUB = 1 << SUB_BITS;

/** Percentiles that differ by this share or less may be of durations that do not: a bucket is as wide. */
export const BUCKET_WIDTH = 1 / SUB;

/** Bucket of a duration in ns: exact below 16, then 16 buckets per power of two (error at most 6.25 %). */
export function bucketOf(ns: number): number {
  if (ns < SUB) return Math.max(0, Math.floor(ns));
  const e = Math.floor(Math.log2(ns));
  const sub = Math.floor(ns / 2 ** (e - SUB_BITS)) - SUB;
  return (e - SUB_BITS + 1) * SUB + sub;
}

/** Smallest duration in ns that falls into the bucket. */
export function bucketLowerNs(bucket: number): number {
  if (bucket < SUB) return bucket;
  return (SUB + (bucket % SUB)) * 2 ** (Math.floor(bucket / SUB) - 1);
}

/** Sum of histograms, ascending by bucket. */
export function mergeHistograms(parts: Iterable<SparseHistogram>): SparseHistogram {
  const counts = new Map<number, number>();
  for (const part of parts) for (const [bucket, count] of part) counts.set(bucket, (counts.get(bucket) ?? 0) + count);
  return [...counts].sort((a, b) => a[0] - b[0]);
}

export function histogramCount(histogram: SparseHistogram): number {
  return histogram.reduce((sum, [, count]) => sum + count, 0);
}

/** Upper bound in ns of the bucket that contains the percentile (0-100); null if empty. */
export function percentileNs(histogram: SparseHistogram, percentile: number): number | null {
  const total = histogramCount(histogram);
  if (total === 0) return null;
  const rank = Math.max(1, Math.ceil((percentile / 100) * total));
  let seen = 0;
  for (const [bucket, count] of histogram) {
    seen += count;
    if (seen >= rank) return bucketLowerNs(bucket + 1);
  }
  return null;
}
