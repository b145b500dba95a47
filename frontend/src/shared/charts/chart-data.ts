import { useEffect, useMemo, useRef, useState } from 'react';
import { useSeries } from '../api/queries.js';
import { serverNow } from '../api/server-clock.js';
import { useWantSamples } from '../stream/hooks.js';
import { type LiveSample, sampleTopic } from '../stream/live-store.js';
import { GAP_MS, SET_BACK_MS } from '../stream/ring.js';
import { live } from '../stream/stream.js';

/** Charts are redrawn at most this often, however fast samples come. */
const REDRAW_MS = 200;

/**
 * Points of some series on one time axis: `[times in s, values of series 1, ...]`. Undefined where only other series have a
 * point, and the line goes on; null everywhere within a gap, where it does not: uPlot's gap ends at the first undefined.
 */
export type AlignedData = [number[], ...(number | null | undefined)[][]];

/** Joins series of `[t_ms, value]` points, each ascending, on the union of their times. */
export function align(series: readonly (readonly (readonly [number, number])[])[], fromMs: number): AlignedData {
  const times = new Set<number>();
  const whole = series.map((points) => withGaps(points, fromMs));
  for (const points of whole) for (const [t] of points) times.add(t);
  const axis = [...times].sort((a, b) => a - b);
  const place = new Map(axis.map((t, index) => [t, index]));
  const columns = whole.map((points) => {
    const column = new Array<number | null | undefined>(axis.length).fill(undefined);
    points.forEach(([t, value], at) => {
      const index = place.get(t)!;
      column[index] = value;
      const next = points[at + 1];
      if (value === null && next) column.fill(null, index, place.get(next[0]));
    });
    return column;
  });
  return [axis.map((t) => t / 1000), ...columns];
}

/** The points from a time on, with a null after each that a gap follows. */
function withGaps(points: readonly (readonly [number, number])[], fromMs: number): [number, number | null][] {
  const recent = points.filter(([t]) => t >= fromMs);
  return recent.flatMap(([t, value], index): [number, number | null][] => {
    const next = recent[index + 1]?.[0];
    return next !== undefined && next - t > GAP_MS
      ? [
          [t, value],
          [t + 1, null],
        ]
      : [[t, value]];
  });
}

/**
 * When the last point of any series was measured, if that is longer ago than a gap; null: now, or never. `nowMs` is the time by
 * the clock of the points.
 */
export function silentSinceMs([times, ...columns]: AlignedData, nowMs: number): number | null {
  for (let at = times.length - 1; at >= 0; at--) {
    if (!columns.some((column) => typeof column[at] === 'number')) continue;
    const lastMs = times[at]! * 1000;
    return nowMs - lastMs > GAP_MS ? lastMs : null;
  }
  return null;
}

/** Value of a series at an index of the shared axis: its newest point there or before; null within a gap. */
export function valueAt([times, ...columns]: AlignedData, series: number, index: number): number | null {
  const column = columns[series];
  for (let at = index; column && at >= 0 && times[index]! - times[at]! <= GAP_MS / 1000; at--) {
    const value = column[at];
    if (value !== undefined) return value;
  }
  return null;
}

/** Each series as a share of its full value. */
export function sharesOf(data: AlignedData, full: readonly number[]): AlignedData {
  if (full.every((each) => each === 1)) return data;
  const [times, ...columns] = data;
  const share = (value: number | null | undefined, of: number) => (typeof value === 'number' ? value / of : value);
  return [times, ...columns.map((column, series) => column.map((value) => share(value, full[series] ?? 1)))];
}

/** Points in ascending times: where a clock was set back, what it had stamped with later times is left out. */
export function ascending(points: readonly (readonly [number, number])[]): [number, number][] {
  const kept: [number, number][] = [];
  for (const [t, value] of points) {
    const last = kept.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY;
    if (last - t > SET_BACK_MS) while (kept.length > 0 && kept.at(-1)![0] >= t) kept.pop();
    else if (t <= last) continue;
    kept.push([t, value]);
  }
  return kept;
}

/**
 * Adds the points of `more` that are newer than the last of `points`, and drops those before `fromMs`. Where all of `more` are
 * older, their clock was set back: they replace the points with later times.
 */
export function extend(points: [number, number][], more: readonly (readonly [number, number])[], fromMs: number): void {
  const first = more[0]?.[0];
  const newest = more.at(-1)?.[0];
  if (first !== undefined && newest !== undefined && (points.at(-1)?.[0] ?? newest) - newest > SET_BACK_MS)
    while (points.length > 0 && points.at(-1)![0] >= first) points.pop();
  let last = points.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY;
  for (const [t, value] of more) {
    if (t <= last) continue;
    points.push([t, value]);
    last = t;
  }
  let drop = 0;
  while (drop < points.length && points[drop]![0] < fromMs) drop++;
  if (drop > 0) points.splice(0, drop);
}

/**
 * By how much the browser's monotonic clock is ahead of the clock that stamps the points, in ms, by the newest sample received;
 * `known` without one.
 */
export function clockAheadMs(
  samples: readonly (Pick<LiveSample, 't_ms' | 'received_ms'> | undefined)[],
  known: number,
): number {
  const newest = samples
    .filter((sample) => sample !== undefined)
    .reduce<Pick<LiveSample, 't_ms' | 'received_ms'> | null>(
      (best, sample) => (best && best.received_ms >= sample.received_ms ? best : sample),
      null,
    );
  return newest ? newest.received_ms - newest.t_ms : known;
}

/**
 * History of some sample keys from the server, continued by the stream. `ahead_ms` is how far the browser's monotonic clock
 * is ahead of that of the points; until the stream has brought one, of the server's.
 */
export function useChartData(
  keys: readonly string[],
  windowS: number,
  keepS = windowS,
): { data: AlignedData; ahead_ms: number; error: unknown } {
  const list = keys.join('\n');
  useWantSamples(keys);
  const history = useSeries(keys);
  const [version, setVersion] = useState(0);
  const buffers = useRef(new Map<string, [number, number][]>());
  const ahead_ms = useRef(performance.now() - serverNow());

  useEffect(() => {
    for (const { key, points } of history.data?.items ?? []) {
      const newer = buffers.current.get(key) ?? [];
      const merged = ascending(points);
      extend(merged, newer, 0);
      buffers.current.set(key, merged);
    }
    setVersion((count) => count + 1);
  }, [history.data]);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const redraw = () => {
      timer ??= setTimeout(() => {
        timer = null;
        setVersion((count) => count + 1);
      }, REDRAW_MS);
    };
    const shown = list.split('\n');
    for (const key of buffers.current.keys()) if (!shown.includes(key)) buffers.current.delete(key);
    const ends = shown.map((key) => {
      const take = () => {
        const points = buffers.current.get(key) ?? [];
        const samples = shown.map((one) => live.sample(one));
        ahead_ms.current = clockAheadMs(samples, ahead_ms.current);
        extend(points, live.ring(key)?.points() ?? [], performance.now() - ahead_ms.current - keepS * 1000 - 5000);
        buffers.current.set(key, points);
        redraw();
      };
      take();
      return live.subscribe(sampleTopic(key), take);
    });
    return () => {
      if (timer) clearTimeout(timer);
      for (const end of ends) end();
    };
  }, [list, keepS]);

  const data = useMemo(() => {
    void version;
    return align(
      list.split('\n').map((key) => buffers.current.get(key) ?? []),
      performance.now() - ahead_ms.current - windowS * 1000,
    );
  }, [list, windowS, version]);
  return { data, ahead_ms: ahead_ms.current, error: history.error };
}
