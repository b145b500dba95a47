/** Within which changes are counted. */
const WINDOW_MS = 600_000;

/** Bounds how often the loop changes what runs by itself; monotonic time. */
export class ChangeLimit {
  private madeMs: number[] = [];

  made(nowMs: number): void {
    this.madeMs.push(nowMs);
  }

  /** Time until another change may be made, in ms; 0: now. */
  waitMs(most: number, nowMs: number): number {
    this.madeMs = this.madeMs.filter((atMs) => nowMs - atMs < WINDOW_MS);
    const oldest = this.madeMs.at(-most);
    return oldest === undefined ? 0 : oldest + WINDOW_MS - nowMs;
  }
}
