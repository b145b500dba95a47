type Point = readonly [s: number, value: number];

/** Value of a series at a time: that of its latest point; 0 before the first. Requires ascending times. */
function valueAt(points: readonly Point[], s: number): number {
  let value = 0;
  for (const [at, of] of points) {
    if (at > s) break;
    value = of;
  }
  return value;
}

const timesOf = (series: readonly (readonly Point[])[]) =>
  [...new Set(series.flatMap((points) => points.map(([s]) => s)))].sort((x, y) => x - y);

/** Sum of series over time, each as its latest point says. */
export function together(series: readonly (readonly Point[])[]): [s: number, value: number][] {
  return timesOf(series).map((s) => [s, series.reduce((sum, points) => sum + valueAt(points, s), 0)]);
}

/** How far two loads are from equal shares, over time: 0 where both have the same, 1 where one has everything. No points without load. */
export function imbalance(a: readonly Point[], b: readonly Point[]): [s: number, imbalance: number][] {
  return timesOf([a, b]).flatMap((s): [number, number][] => {
    const [of, other] = [valueAt(a, s), valueAt(b, s)];
    return of + other > 0 ? [[s, Math.abs(of - other) / (of + other)]] : [];
  });
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

/** When the series last came below the limit and stayed there, after a time; null: it did not. */
export function settledAt(points: readonly Point[], afterS: number, limit: number): number | null {
  const later = points.filter(([s]) => s >= afterS);
  const above = later.findLastIndex(([, value]) => value > limit);
  return later[above + 1]?.[0] ?? null;
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
  return used.some(([s]) => s <= atS) ? Math.max(0, inProgress - valueAt(used, atS)) : null;
}

/** Mean of the points from a time on; null: there are none. */
export function meanFrom(points: readonly Point[], fromS: number, toS = Number.POSITIVE_INFINITY): number | null {
  const within = points.filter(([s]) => s >= fromS && s < toS);
  return within.length > 0 ? within.reduce((sum, [, value]) => sum + value, 0) / within.length : null;
}
