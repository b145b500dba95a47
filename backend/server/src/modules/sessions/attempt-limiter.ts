const BURST = 10;
const REFILL_MS = 6000;
const MAX_ADDRESSES = 10_000;

/** Limits wrong secrets per address: ten in a row, then one every six seconds. */
export class AttemptLimiter {
  private readonly failures = new Map<string, { count: number; at: number }>();

  /** `now`: a monotonic clock in milliseconds. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Seconds to wait before the next attempt; 0: none. */
  waitSeconds(address: string): number {
    const count = this.level(address);
    return count <= BURST - 1 ? 0 : Math.ceil(((count - BURST + 1) * REFILL_MS) / 1000);
  }

  failed(address: string): void {
    const count = this.level(address) + 1;
    if (!this.failures.has(address) && this.failures.size >= MAX_ADDRESSES) {
      const oldest = this.failures.keys().next().value;
      if (oldest !== undefined) this.failures.delete(oldest);
    }
    this.failures.set(address, { count, at: this.now() });
  }

  succeeded(address: string): void {
    this.failures.delete(address);
  }

  private level(address: string): number {
    const entry = this.failures.get(address);
    return entry ? Math.max(0, entry.count - (this.now() - entry.at) / REFILL_MS) : 0;
  }
}
