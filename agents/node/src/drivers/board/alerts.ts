interface AlertRate {
  /** Alerts allowed at once. */
  burst: number;
  /** Alerts allowed per second after the burst. */
  per_s: number;
}

const RATE: AlertRate = { burst: 20, per_s: 5 };

/** Rate limit for a module's alerts; the next one that passes says how many were suppressed (`suppressed`). */
export class AlertLimiter {
  private tokens: number;
  private refilled_ms: number;
  private held = 0;

  constructor(
    private readonly rate: AlertRate = RATE,
    private readonly now_ms: () => number = () => performance.now(),
  ) {
    this.tokens = rate.burst;
    this.refilled_ms = now_ms();
  }

  get suppressed(): number {
    return this.held;
  }

  pass(tell: (suppressed: number) => void): void {
    const now = this.now_ms();
    this.tokens = Math.min(this.rate.burst, this.tokens + ((now - this.refilled_ms) / 1000) * this.rate.per_s);
    this.refilled_ms = now;
    if (this.tokens < 1) {
      this.held++;
      return;
    }
    this.tokens--;
    const suppressed = this.held;
    this.held = 0;
    tell(suppressed);
  }
}
