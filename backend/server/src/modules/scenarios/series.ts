import type { Api } from './api-caller.js';

const MOST_POINTS = 500;

/** Samples of a key since a time, as `[s since then, value]`, evenly thinned if there are many. */
export async function historyOf(api: Api, key: string, sinceMs: number, scale = 1): Promise<[number, number][]> {
  const { items } = await api.call('listSamples', { query: { keys: key, since: sinceMs } });
  const points = items.find((series) => series.key === key)?.points ?? [];
  const step = Math.max(1, Math.ceil(points.length / MOST_POINTS));
  return points.filter((_, n) => n % step === 0).map(([t_ms, value]) => [(t_ms - sinceMs) / 1000, value * scale]);
}
