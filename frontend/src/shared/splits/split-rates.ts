import { sampleKey } from '@orrery/contract/sample-keys';
import { useMemo } from 'react';
import { useSamples, useStale } from '../stream/hooks.js';
import { live } from '../stream/stream.js';

/** Over which all figures of a split are averaged, so that they agree with each other. */
export const SPLIT_WINDOW_S = 5;

type Points = readonly (readonly [t_ms: number, value: number])[];

/** What a split sends to an instance. */
export interface SplitRate {
  readonly pps: number;
  /** Of the packets of the split; null: there are none. */
  readonly share: number | null;
}

/**
 * Means over the last seconds until the newest point of any instance, of points `[t_ms, packets per second]`; null: an instance
 * has none of then.
 */
export function splitRates(series: readonly Points[]): readonly (SplitRate | null)[] {
  const end_ms = Math.max(...series.map((points) => points.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY));
  const means = series.map((points) => {
    const recent = points.filter(([t_ms]) => t_ms > end_ms - SPLIT_WINDOW_S * 1000);
    return recent.length === 0 ? null : recent.reduce((sum, [, value]) => sum + value, 0) / recent.length;
  });
  const all = means.reduce<number>((sum, mean) => sum + (mean ?? 0), 0);
  return means.map((pps) => (pps === null ? null : { pps, share: all > 0 ? pps / all : null }));
}

/** What a split sends to each of its instances now. Precondition: as of `useSample`. */
export function useSplitRates(instances: readonly string[]) {
  const keys = instances.map((id) => sampleKey('instance', id, 'split_pps'));
  const text = useSamples(keys, () => JSON.stringify(splitRates(keys.map((key) => live.ring(key)?.points() ?? []))));
  const received_ms = useSamples(keys, (samples) =>
    samples.length === 0 ? null : Math.max(...samples.map((sample) => sample.received_ms)),
  );
  const rates = useMemo(() => JSON.parse(text) as readonly (SplitRate | null)[], [text]);
  return { rates, stale: useStale(received_ms ?? undefined) };
}
