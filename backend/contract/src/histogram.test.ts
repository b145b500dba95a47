import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUCKET_WIDTH, bucketLowerNs, bucketOf, histogramCount, mergeHistograms, percentileNs } from './histogram.js';

describe('histogram buckets', () => {
  it('contain every duration between their bounds, at most 6.25 % wide', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 40 }), (ns) => {
        const bucket = bucketOf(ns);
        expect(bucketLowerNs(bucket)).toBeLessThanOrEqual(ns);
        expect(bucketLowerNs(bucket + 1)).toBeGreaterThan(ns);
        if (ns >= 16) expect(bucketLowerNs(bucket + 1) / bucketLowerNs(bucket)).toBeLessThanOrEqual(1 + BUCKET_WIDTH);
      }),
    );
  });
});

describe('percentileNs', () => {
  it('is null without a measurement', () => {
    expect(percentileNs([], 99)).toBeNull();
  });

  it('is the upper bound of the bucket that holds the ranked duration', () => {
    const durations = fc.array(fc.integer({ min: 0, max: 2 ** 36 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(durations, fc.integer({ min: 1, max: 100 }), (values, percentile) => {
        const histogram = mergeHistograms(values.map((ns) => [[bucketOf(ns), 1]]));
        expect(histogramCount(histogram)).toBe(values.length);
        const sorted = values.toSorted((a, b) => a - b);
        const exact = sorted[Math.max(1, Math.ceil((percentile / 100) * values.length)) - 1]!;
        const bound = percentileNs(histogram, percentile)!;
        expect(bound).toBeGreaterThan(exact);
        expect(bound).toBeLessThanOrEqual(Math.max(exact * (1 + 1 / 16), exact) + 1);
      }),
    );
  });
});
