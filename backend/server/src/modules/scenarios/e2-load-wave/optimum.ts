import { valueAt } from '../series.js';

type Point = readonly [s: number, value: number];

/** Instances that an NF needs for a rate (E2 3.6.3): what a bit/s takes of a core when one instance runs, by what an instance may use. */
export function optimum(rate_bps: number, cores_per_bps: number, cpu_limit: number): number {
  return Math.max(1, Math.ceil((rate_bps * cores_per_bps) / cpu_limit - 1e-9));
}

/** Part of its limit with which an instance still does not wait for its CPU: one that does takes packets in batches, which cost less. */
const FREE = 0.9;

/** What a bit/s takes of a core where one instance carries `bps` with `cpu` cores. Throws if it used up what it may. */
export function costOf(nf: string, cpu: number | null, bps: number | null, cpu_limit: number): number {
  if (!cpu || !bps) throw new Error(`nothing was measured of ${nf}`);
  if (cpu > FREE * cpu_limit)
    throw new Error(
      `an eighth of the least load takes ${cpu.toFixed(3)} cores of ${nf}, which may use ${cpu_limit}: what it costs alone is not known; choose a smaller scale or a higher CPU limit`,
    );
  return cpu / bps;
}

/** By how much a series is above another one on average, as a share of that; only where both are known. Null: nowhere. */
export function meanGap(actual: readonly Point[], lowest: readonly Point[], fromS: number): number | null {
  const gaps = lowest.flatMap(([s, least]) => {
    const value = s >= fromS && least > 0 ? valueAt(actual, s) : null;
    return value === null ? [] : [value / least - 1];
  });
  return gaps.length > 0 ? gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length : null;
}

/** Sum of series with points at other times: at each time of the first one, with the latest value of each. */
export function sumOf(series: readonly (readonly Point[])[]): [number, number][] {
  const [first = []] = series;
  return first.map(([s]) => [s, series.reduce((sum, points) => sum + (valueAt(points, s) ?? 0), 0)]);
}
