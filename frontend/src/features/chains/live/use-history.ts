import { useEffect, useMemo, useRef, useState } from 'react';
import { useSeries } from '../../../shared/api/queries.js';
import { sampleTopic } from '../../../shared/stream/live-store.js';
import { live } from '../../../shared/stream/stream.js';

const WINDOW_MS = 5 * 60_000;
const MAX_POINTS = 3000;

/** Times in ascending order and one column of values a key; null where a key has none at that time. */
export interface Table {
  times: number[];
  columns: (number | null)[][];
}

/** Adds a row, or fills the row of that time. A row older than the newest one is ignored. */
export function addPoint(table: Table, column: number, t: number, value: number): void {
  const { times, columns } = table;
  const newest = times.at(-1);
  if (newest !== undefined && t < newest) {
    const at = times.lastIndexOf(t);
    if (at >= 0) columns[column]![at] = value;
    return;
  }
  if (t !== newest) {
    times.push(t);
    for (const values of columns) values.push(null);
  }
  columns[column]![times.length - 1] = value;
}

/** Forgets what is older than the window, and the oldest beyond the bound. */
export function trim(table: Table, windowMs = WINDOW_MS, maxPoints = MAX_POINTS): void {
  const end = table.times.at(-1);
  if (end === undefined) return;
  let drop = Math.max(0, table.times.length - maxPoints);
  while (drop < table.times.length && table.times[drop]! < end - windowMs) drop++;
  if (drop === 0) return;
  table.times.splice(0, drop);
  for (const values of table.columns) values.splice(0, drop);
}

/** History from the server, then the stream; a new object for each change. */
export function useHistory(keys: readonly string[]): Table {
  const history = useSeries(keys);
  const table = useRef<Table>({ times: [], columns: [] });
  const [version, setVersion] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: starts anew for other keys and when history has come
  useEffect(() => {
    const fresh: Table = { times: [], columns: keys.map(() => []) };
    const points = keys.flatMap((key, column) => {
      const past = history.data?.items.find((series) => series.key === key)?.points ?? [];
      const recent = live.ring(key)?.points() ?? [];
      return [...past, ...recent].map(([t, value]) => ({ t, value, column }));
    });
    points.sort((a, b) => a.t - b.t);
    for (const { t, value, column } of points) addPoint(fresh, column, t, value);
    trim(fresh);
    table.current = fresh;
    setVersion((count) => count + 1);
    const ends = keys.map((key, column) =>
      live.subscribe(sampleTopic(key), () => {
        const sample = live.sample(key);
        if (!sample) return;
        addPoint(fresh, column, sample.t_ms, sample.value);
        trim(fresh);
        setVersion((count) => count + 1);
      }),
    );
    return () => {
      for (const end of ends) end();
    };
  }, [keys.join('\n'), history.data]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the arrays are changed in place
  return useMemo(() => ({ ...table.current }), [version]);
}

/** Rows `[time, ...values]`, newest first, at most one in each `stepMs`. */
export function tableAt(table: Table, stepMs: number): [number, ...(number | null)[]][] {
  const rows: [number, ...(number | null)[]][] = [];
  let last = Number.POSITIVE_INFINITY;
  for (let at = table.times.length - 1; at >= 0; at--) {
    const t = table.times[at]!;
    if (last - t < stepMs) continue;
    last = t;
    rows.push([t, ...table.columns.map((values) => values[at] ?? null)]);
  }
  return rows;
}

export function toCsv(table: Table, keys: readonly string[]): string {
  const lines = table.times.map((t, at) =>
    [new Date(t).toISOString(), ...table.columns.map((values) => values[at] ?? '')].join(','),
  );
  return [['time', ...keys].join(','), ...lines, ''].join('\n');
}
