import { backoffMs } from './endings.js';

/** Late requests for which another way is sought at once, and the periods until the next ones. */
const MOST = 8;
const APART = 10;
/** Between searches for one request, in periods. */
const ANEW = { first: 30, most: 600 };

/**
 * When other ways are sought for late requests of a pool: for a few at a time, since what they leave may be all that others
 * lack, and for each less and less often, so that they do not go back and forth. Times are monotonic; `periodMs`: between
 * comparisons of latencies with bounds.
 */
export class Searches {
  private notBeforeMs = 0;
  private readonly known = new Map<string, { readonly times: number; readonly notBeforeMs: number }>();

  constructor(private readonly periodMs: number) {}

  /** Those of the late requests, in their order, for which a way is sought now. */
  begin(late: readonly string[], nowMs: number): string[] {
    const [firstMs, mostMs] = [ANEW.first * this.periodMs, ANEW.most * this.periodMs];
    for (const [id, { notBeforeMs }] of this.known) if (nowMs >= notBeforeMs + mostMs) this.known.delete(id);
    if (nowMs < this.notBeforeMs) return [];
    const due = late.filter((id) => nowMs >= this.dueMs(id)).slice(0, MOST);
    for (const id of due) {
      const times = this.known.get(id)?.times ?? 0;
      this.known.set(id, { times: times + 1, notBeforeMs: nowMs + backoffMs(times, firstMs, mostMs) });
    }
    if (due.length > 0) this.notBeforeMs = nowMs + APART * this.periodMs;
    return due;
  }

  /** Until a way is sought for any of them; null: there are none. */
  inMs(late: readonly string[], nowMs: number): number | null {
    if (late.length === 0) return null;
    const first = late.reduce((least, id) => Math.min(least, this.dueMs(id)), Number.POSITIVE_INFINITY);
    return Math.max(0, first - nowMs, this.notBeforeMs - nowMs);
  }

  private dueMs(id: string): number {
    return this.known.get(id)?.notBeforeMs ?? 0;
  }
}
