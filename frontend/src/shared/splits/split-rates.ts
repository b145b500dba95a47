import { sampleKey } from '@orrery/contract/sample-keys';
import { useMemo } from 'react';
import { useSamples } from '../stream/hooks.js';
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
 * has none of then. Points come for all instances at once: one that has fewer was sent nothing when it had none, as before it ran.
 */
export function splitRates(series: readonly Points[]): readonly (SplitRate | null)[] {
  const end_ms = Math.max(...series.map((points) => points.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY));
  const recent = series.map((points) => points.filter(([t_ms]) => t_ms > end_ms - SPLIT_WINDOW_S * 1000));
  const most = Math.max(...recent.map(({ length }) => length));
  const means = recent.map((points) => (points.length === 0 ? null : sum(points.map(([, value]) => value)) / most));
  const all = sum(means.map((mean) => mean ?? 0));
  return means.map((pps) => (pps === null ? null : { pps, share: all > 0 ? pps / all : null }));
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

export const splitRateKey = (instanceId: string) => sampleKey('instance', instanceId, 'split_pps');

/** What a split sends to each of its instances now. Precondition: as of `useSample`. */
export function useSplitRates(instances: readonly string[]): readonly (SplitRate | null)[] {
  const keys = instances.map(splitRateKey);
  const text = useSamples(keys, () => JSON.stringify(splitRates(keys.map((key) => live.ring(key)?.points() ?? []))));
  return useMemo(() => JSON.parse(text) as readonly (SplitRate | null)[], [text]);
}
