import type { Emit } from '../../link/agent-event.js';

export type Alert = Parameters<Emit>;

interface AlertRate {
  /** So many at once, */
  burst: number;
  /** and so many a second after. */
  per_s: number;
}

const RATE: AlertRate = { burst: 20, per_s: 5 };

/** Lets a module's events through up to a rate; the next one that passes says how many did not (`suppressed`). */
export class AlertLimiter {
  private tokens: number;
  private refilled_ms: number;
  private held = 0;

  constructor(
    private readonly emit: Emit,
    private readonly rate: AlertRate = RATE,
    private readonly now_ms: () => number = Date.now,
  ) {
    this.tokens = rate.burst;
    this.refilled_ms = now_ms();
  }

  get suppressed(): number {
    return this.held;
  }

  raise(...[severity, event, subject, message, data]: Alert): void {
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
    this.emit(severity, event, subject, message, { ...data, suppressed });
  }
}
