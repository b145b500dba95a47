/** A token bucket that may go into debt: work is done first and paid for by waiting. */
export class Pace {
  private level: number;
  private atMs: number;

  /** `now`: a monotonic clock in milliseconds. */
  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.level = burst;
    this.atMs = now();
  }

  /** Takes `amount`; returns the milliseconds after which the debt is paid, 0 if there is none. */
  take(amount: number): number {
    this.refill();
    this.level -= amount;
    return this.level >= 0 ? 0 : Math.ceil((-this.level / this.perSecond) * 1000);
  }

  /** Takes `amount` if there is enough. */
  tryTake(amount: number): boolean {
    this.refill();
    if (this.level < amount) return false;
    this.level -= amount;
    return true;
  }

  private refill(): void {
    const now = this.now();
    this.level = Math.min(this.burst, this.level + ((now - this.atMs) / 1000) * this.perSecond);
    this.atMs = now;
  }
}
