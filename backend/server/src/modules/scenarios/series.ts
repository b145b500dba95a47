import type { FieldError } from '@orrery/contract';
import type { Api } from './api-caller.js';

type Point = readonly [s: number, value: number];

/** Samples are kept for ten minutes, some of which go by until they are read. */
const KEPT_S = 580;
/** More than a chart shows. */
const MOST_PLOTTED = 500;

/** All samples of a key since a time, as `[s since then, value]`, of those that the server still has. */
export async function historyOf(api: Api, key: string, sinceMs: number, scale = 1): Promise<[number, number][]> {
  const { items } = await api.call('listSamples', { query: { keys: key, since: sinceMs } });
  const points = items.find((series) => series.key === key)?.points ?? [];
  return points.map(([t_ms, value]) => [(t_ms - sinceMs) / 1000, value * scale]);
}

/** The fault of a parameter by which more is measured than is still there when it is read. */
export function outlasting(parameter: string, seconds: number): FieldError[] {
  if (seconds <= KEPT_S) return [];
  const detail = `makes ${Math.ceil(seconds)} s that are measured, more than ${KEPT_S} s: samples are kept for ten minutes`;
  return [{ pointer: `/parameters/${parameter}`, detail, code: 'too-long' }];
}

/** Evenly thinned if there are many: enough to draw, too few to judge by. */
export function thinned<T>(points: readonly T[]): T[] {
  const step = Math.max(1, Math.ceil(points.length / MOST_PLOTTED));
  return points.filter((_, n) => n % step === 0);
}

/** By how much a series is above another one, at the times at which both were measured. */
export function above(series: readonly Point[], other: readonly Point[]): [s: number, value: number][] {
  const under = new Map(other);
  return series.flatMap(([s, value]): [number, number][] => {
    const of = under.get(s);
    return of === undefined ? [] : [[s, value - of]];
  });
}

/** Value of a series at a time: that of its latest point; null before the first. Requires ascending times. */
export function valueAt(points: readonly Point[], s: number): number | null {
  let [from, to] = [0, points.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (points[middle]![0] <= s) from = middle + 1;
    else to = middle;
  }
  return points[from - 1]?.[1] ?? null;
}
