import type { LoadThreshold } from '@orrery/contract';

export type Metric = LoadThreshold['metric'];

/** Entries are in these units of the metric. */
export const METRIC_UNITS: Record<Metric, { readonly label: string; readonly suffix: string; readonly scale: number }> =
  {
    bps: { label: 'Throughput', suffix: ' Mbit/s', scale: 1e6 },
    pps: { label: 'Packets', suffix: ' kpkt/s', scale: 1e3 },
    cpu: { label: 'CPU', suffix: ' % of a core', scale: 0.01 },
  };

/** Rounds off the floating-point noise of the scaling. */
export const inUnit = (value: number, metric: Metric) => Number((value / METRIC_UNITS[metric].scale).toPrecision(12));
export const fromUnit = (entry: number, metric: Metric) => Number((entry * METRIC_UNITS[metric].scale).toPrecision(12));

/** Where on its bar a load and its thresholds lie, from 0 to 1. */
export function thresholdPlaces(threshold: Pick<LoadThreshold, 'up' | 'down'>, load: number | null) {
  const full = Math.max(threshold.up * 1.25, load ?? 0);
  return {
    up: threshold.up / full,
    down: threshold.down / full,
    load: load === null ? null : load / full,
  };
}
