import { setImmediate } from 'node:timers/promises';

const SLICE_MS = 10;

/** Lets others have the thread between the pieces of long work. */
export class Pace {
  private sinceMs = performance.now();
  private doneMs = 0;

  /** `check` throws once nobody needs the work any more. */
  constructor(readonly check: () => void = () => undefined) {}

  /** Time that the work took itself, in ms. */
  get workMs(): number {
    return this.doneMs + performance.now() - this.sinceMs;
  }

  /** Between two pieces. Rejects with what `check` throws. */
  async breathe(): Promise<void> {
    const sliceMs = performance.now() - this.sinceMs;
    if (sliceMs < SLICE_MS) return;
    this.doneMs += sliceMs;
    await setImmediate();
    this.sinceMs = performance.now();
    this.check();
  }
}
