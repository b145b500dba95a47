import { useEffect, useMemo, useRef, useState } from 'react';
import { useSeries } from '../api/queries.js';
import { useWantSamples } from '../stream/hooks.js';
import { sampleTopic } from '../stream/live-store.js';
import { live } from '../stream/stream.js';

/** Charts are redrawn at most this often, however fast samples come. */
const REDRAW_MS = 200;

/** Points of some series on one time axis: `[times in s, values of series 1, ...]`; null where a series has none. */
export type AlignedData = [number[], ...(number | null)[][]];

/** Joins series of `[t_ms, value]` points, each ascending, on the union of their times. */
export function align(series: readonly (readonly (readonly [number, number])[])[], fromMs: number): AlignedData {
  const times = new Set<number>();
  for (const points of series) for (const [t] of points) if (t >= fromMs) times.add(t);
  const axis = [...times].sort((a, b) => a - b);
  const place = new Map(axis.map((t, index) => [t, index]));
  const columns = series.map((points) => {
    const column = new Array<number | null>(axis.length).fill(null);
    for (const [t, value] of points) {
      const index = place.get(t);
      if (index !== undefined) column[index] = value;
    }
    return column;
  });
  return [axis.map((t) => t / 1000), ...columns];
}

/** Adds the points of `more` that are newer than the last of `points`, and drops those before `fromMs`. */
export function extend(points: [number, number][], more: readonly (readonly [number, number])[], fromMs: number): void {
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

/** History of some sample keys from the server, continued by the stream. */
export function useChartData(
  keys: readonly string[],
  windowS: number,
  keepS = windowS,
): { data: AlignedData; error: unknown } {
  const list = keys.join('\n');
  useWantSamples(keys);
  const history = useSeries(keys);
  const [version, setVersion] = useState(0);
  const buffers = useRef(new Map<string, [number, number][]>());

  useEffect(() => {
    for (const { key, points } of history.data?.items ?? []) {
      const newer = buffers.current.get(key) ?? [];
      const merged: [number, number][] = points.map(([t, value]) => [t, value]);
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
        extend(points, live.ring(key)?.points() ?? [], Date.now() - keepS * 1000 - 5000);
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
      Date.now() - windowS * 1000,
    );
  }, [list, windowS, version]);
  return { data, error: history.error };
}
