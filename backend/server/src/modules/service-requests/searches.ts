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
  /** When late requests were first seen to be late. */
  private readonly seenMs = new Map<string, number>();
  private readonly known = new Map<string, { readonly times: number; readonly notBeforeMs: number }>();

  constructor(private readonly periodMs: number) {}

  /**
   * Those of the late requests for which a way is sought now, those first that have been seen to be late for longest; of those
   * that were seen at the same time, in their order.
   */
  begin(late: readonly string[], nowMs: number): string[] {
    const longestFirst = this.inOrder(late, nowMs);
    const [firstMs, mostMs] = [ANEW.first * this.periodMs, ANEW.most * this.periodMs];
    for (const [id, { notBeforeMs }] of this.known) if (nowMs >= notBeforeMs + mostMs) this.known.delete(id);
    if (nowMs < this.notBeforeMs) return [];
    const due = longestFirst.filter((id) => nowMs >= this.dueMs(id)).slice(0, MOST);
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

  private inOrder(late: readonly string[], nowMs: number): string[] {
    const those = new Set(late);
    for (const id of this.seenMs.keys()) if (!those.has(id)) this.seenMs.delete(id);
    for (const id of late) if (!this.seenMs.has(id)) this.seenMs.set(id, nowMs);
    return late.toSorted((a, b) => this.seenMs.get(a)! - this.seenMs.get(b)!);
  }

  private dueMs(id: string): number {
    return this.known.get(id)?.notBeforeMs ?? 0;
  }
}
