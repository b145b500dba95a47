import { valueAt } from '../series.js';

type Point = readonly [s: number, value: number];

const timesOf = (series: readonly (readonly Point[])[]) =>
  [...new Set(series.flatMap((points) => points.map(([s]) => s)))].sort((x, y) => x - y);

/** Sum of series over time, each as its latest point says. */
export function together(series: readonly (readonly Point[])[]): [s: number, value: number][] {
  return timesOf(series).map((s) => [s, series.reduce((sum, points) => sum + (valueAt(points, s) ?? 0), 0)]);
}

/**
 * How far two loads are from equal shares by what each carried between two times: 0 where both carried the same, 1 where one carried
 * everything. Null: neither carried anything.
 */
export function imbalance(
  a: readonly Point[],
  b: readonly Point[],
  fromS: number,
  toS = Number.POSITIVE_INFINITY,
): number | null {
  const [of, other] = [meanFrom(a, fromS, toS) ?? 0, meanFrom(b, fromS, toS) ?? 0];
  return of + other > 0 ? Math.abs(of - other) / (of + other) : null;
}

interface Balance {
  readonly afterS: number;
  readonly windowS: number;
  /** Of the imbalance. */
  readonly limit: number;
}

/** When two loads are first balanced over the window that ends then, and from then on as a whole; null: they are not. */
export function balancedAt(
  a: readonly Point[],
  b: readonly Point[],
  { afterS, windowS, limit }: Balance,
): number | null {
  const isBalanced = (of: number | null) => of !== null && of <= limit;
  const times = timesOf([a, b]).filter((s) => s >= afterS);
  return times.find((s) => isBalanced(imbalance(a, b, s - windowS, s)) && isBalanced(imbalance(a, b, s))) ?? null;
}

/** Mean over the last `windowS` before each point, so that single packets of single flows do not count. */
export function smoothed(points: readonly Point[], windowS: number): [number, number][] {
  let first = 0;
  let sum = 0;
  return points.map(([s, value], index) => {
    sum += value;
    while (points[first]![0] <= s - windowS) sum -= points[first++]![1];
    return [s, sum / (index - first + 1)];
  });
}

/** The highest of the points; null: there are none. */
export function highest(points: readonly Point[]): number | null {
  return points.length > 0 ? Math.max(...points.map(([, value]) => value)) : null;
}

/**
 * Flows in progress that have no entry of a table, at least: an entry stays for a while after its flow, so that those in use may
 * be of flows that have ended. Null: how many are in use is not known.
 */
export function withoutEntry(inProgress: number, used: readonly Point[], atS: number): number | null {
  const inUse = valueAt(used, atS);
  return inUse === null ? null : Math.max(0, inProgress - inUse);
}

/** Mean of the points from a time on; null: there are none. */
export function meanFrom(points: readonly Point[], fromS: number, toS = Number.POSITIVE_INFINITY): number | null {
  const within = points.filter(([s]) => s >= fromS && s < toS);
  return within.length > 0 ? within.reduce((sum, [, value]) => sum + value, 0) / within.length : null;
}
