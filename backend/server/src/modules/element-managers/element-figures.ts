import { parseSampleKey, type Sample } from '@orrery/contract';
import { LastSecond } from './last-second.js';

type Figure = 'cpu' | 'bps';

/** What instances took and carried in the last second, of those that are followed. */
export class ElementFigures {
  private readonly figures = new Map<string, Readonly<Record<Figure, LastSecond>>>();

  /** All others are forgotten. */
  follow(ids: ReadonlySet<string>): void {
    for (const id of this.figures.keys()) if (!ids.has(id)) this.figures.delete(id);
    for (const id of ids)
      if (!this.figures.has(id)) this.figures.set(id, { cpu: new LastSecond(), bps: new LastSecond() });
  }

  /** `nowMs`: monotonic clock, as below. */
  take(samples: readonly Sample[], nowMs: number): void {
    if (this.figures.size === 0) return;
    for (const { key, value } of samples) {
      const name = parseSampleKey(key);
      if (name?.kind !== 'instance' || (name.metric !== 'cpu' && name.metric !== 'bps')) continue;
      this.figures.get(name.subject)?.[name.metric].take(value, nowMs);
    }
  }

  of(id: string, nowMs: number): { cpu_share: number | null; bps: number | null } {
    const found = this.figures.get(id);
    return { cpu_share: found?.cpu.mean(nowMs) ?? null, bps: found?.bps.mean(nowMs) ?? null };
  }
}
