const WINDOW_MS = 1000;
/** The latest reading counts for longer than the window, where readings come late. */
const FRESH_MS = 2500;
/** Agents send five readings a second. */
const MOST = 32;

/** The mean of what was measured in the last second. */
export class LastSecond {
  private readonly readings: { at_ms: number; value: number }[] = [];

  /** `nowMs`: monotonic clock, as below. */
  take(value: number, nowMs: number): void {
    this.readings.push({ at_ms: nowMs, value });
    while (this.readings.length > MOST || this.readings[0]!.at_ms <= nowMs - FRESH_MS) this.readings.shift();
  }

  /** Null: nothing was measured lately. */
  mean(nowMs: number): number | null {
    const fresh = this.readings.filter(({ at_ms }) => at_ms > nowMs - FRESH_MS);
    const within = fresh.filter(({ at_ms }) => at_ms > nowMs - WINDOW_MS);
    const counted = within.length > 0 ? within : fresh.slice(-1);
    return counted.length === 0 ? null : counted.reduce((sum, { value }) => sum + value, 0) / counted.length;
  }
}
