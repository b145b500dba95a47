const FIRST_MS = 2000;
const MOST_MS = 300_000;

/** When what was refused is tried again, by what it is; monotonic time. */
export class Retries {
  private readonly refused = new Map<string, { readonly count: number; readonly notBeforeMs: number }>();

  /** Time until it may be tried, in ms; 0: now. */
  waitMs(what: string, nowMs: number): number {
    return Math.max(0, (this.refused.get(what)?.notBeforeMs ?? 0) - nowMs);
  }

  /** It was refused, or came to nothing: the time until it is tried again, which doubles each time. */
  later(what: string, nowMs: number): number {
    const count = this.refused.get(what)?.count ?? 0;
    const ms = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(count, 16));
    this.refused.set(what, { count: count + 1, notBeforeMs: nowMs + ms });
    return ms;
  }

  clear(what: string): void {
    this.refused.delete(what);
  }
}
