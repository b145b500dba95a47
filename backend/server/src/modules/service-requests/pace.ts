import { setImmediate } from 'node:timers/promises';
import { conflict } from '../../platform/problem.js';

const SLICE_MS = 10;

/** Lets others have the thread between the pieces of long work. */
export class Pace {
  private sinceMs = performance.now();
  private doneMs = 0;

  constructor(private readonly signal: AbortSignal | null = null) {}

  /** Time that the work took itself, in ms. */
  get workMs(): number {
    return this.doneMs + performance.now() - this.sinceMs;
  }

  /** Between two pieces. Rejects once the signal is aborted. */
  async breathe(): Promise<void> {
    const sliceMs = performance.now() - this.sinceMs;
    if (sliceMs < SLICE_MS) return;
    this.doneMs += sliceMs;
    await setImmediate();
    this.sinceMs = performance.now();
    this.check();
  }

  /** Throws once the signal is aborted. */
  check(): void {
    if (this.signal?.aborted) throw conflict('Nobody waits for the answer any more; nothing was booked.');
  }
}
