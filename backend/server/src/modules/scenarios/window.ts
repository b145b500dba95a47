import { median } from '../../platform/median.js';
import type { Api } from './api-caller.js';

/** Keys that one request may name. */
const KEYS_EACH = 60;

/** Means and medians of samples since a time. */
export class Window {
  private constructor(private readonly values: ReadonlyMap<string, readonly number[]>) {}

  static async since(api: Api, keys: readonly string[], sinceMs: number): Promise<Window> {
    const values = new Map<string, readonly number[]>();
    for (let i = 0; i < keys.length; i += KEYS_EACH) {
      const query = { keys: keys.slice(i, i + KEYS_EACH).join(','), since: sinceMs };
      for (const { key, points } of (await api.call('listSamples', { query })).items)
        if (points.length > 0)
          values.set(
            key,
            points.map(([, value]) => value),
          );
    }
    return new Window(values);
  }

  /** 0 without samples. */
  mean(key: string): number {
    const values = this.values.get(key) ?? [];
    return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  }

  median(key: string): number | null {
    const values = this.values.get(key);
    return values ? median(values) : null;
  }
}
