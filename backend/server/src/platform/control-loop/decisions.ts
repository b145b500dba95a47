import type { Decision, TakenDecision } from './definition.js';

/** Number of subjects whose last decision is remembered. */
const SUBJECTS = 512;
/** Maximum number of decisions logged per loop and minute. */
const MOST_PER_MINUTE = 30;
const MINUTE_MS = 60_000;

/** Decisions of one loop; repetitions of the last decision on a subject, for the same reason, are dropped. */
export class Decisions {
  last: TakenDecision | null = null;
  private readonly bySubject = new Map<string, string>();
  private toldAtMs: number[] = [];
  private suppressed = 0;

  constructor(private readonly loop: string) {}

  /** The decision if it is to be logged; null: a repetition, or over the rate limit. */
  take(decision: Decision, nowMs: number, elapsedMs: number): TakenDecision | null {
    const { subject, what, why } = decision;
    const told = `${what}: ${why}`;
    this.last = { ...decision, loop: this.loop, atMs: nowMs, suppressed: this.suppressed };
    const isNews = this.bySubject.get(subject) !== told;
    this.remember(subject, told);
    if (!isNews) return null;
    this.toldAtMs = this.toldAtMs.filter((atMs) => elapsedMs - atMs < MINUTE_MS);
    if (this.toldAtMs.length >= MOST_PER_MINUTE) {
      this.suppressed++;
      return null;
    }
    this.toldAtMs.push(elapsedMs);
    this.suppressed = 0;
    return this.last;
  }

  private remember(subject: string, told: string): void {
    this.bySubject.delete(subject);
    this.bySubject.set(subject, told);
    const [oldest] = this.bySubject.keys();
    if (this.bySubject.size > SUBJECTS && oldest !== undefined) this.bySubject.delete(oldest);
  }
}
