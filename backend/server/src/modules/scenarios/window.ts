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

  /** Null without samples. */
  mean(key: string): number | null {
    const values = this.values.get(key);
    return values ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
  }

  /** Sum of the means; null where one of them has no samples. */
  sumOfMeans(keys: readonly string[]): number | null {
    return keys.reduce<number | null>((sum, key) => {
      const mean = this.mean(key);
      return sum === null || mean === null ? null : sum + mean;
    }, 0);
  }

  median(key: string): number | null {
    const values = this.values.get(key);
    return values ? median(values) : null;
  }
}
