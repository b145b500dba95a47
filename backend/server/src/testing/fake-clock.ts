import type { Clock } from '../platform/control-loop/clock.js';

/** Manually advanced time; the wall clock can be set independently. */
export class FakeClock implements Clock {
  wallMs = 1_000_000;
  private elapsed = 0;
  private timers: { atMs: number; work: () => void }[] = [];

  nowMs = () => this.wallMs;
  elapsedMs = () => this.elapsed;

  after(ms: number, work: () => void): () => void {
    const timer = { atMs: this.elapsed + ms, work };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((each) => each !== timer);
    };
  }

  async pass(ms: number): Promise<void> {
    const end = this.elapsed + ms;
    await settle();
    for (;;) {
      const [next] = this.timers.toSorted((a, b) => a.atMs - b.atMs);
      if (!next || next.atMs > end) break;
      this.wallMs += next.atMs - this.elapsed;
      this.elapsed = next.atMs;
      this.timers = this.timers.filter((each) => each !== next);
      next.work();
      await settle();
    }
    this.wallMs += end - this.elapsed;
    this.elapsed = end;
  }
}

/** Resolves when all pending immediate work is done. */
export const settle = () => new Promise((resolve) => setImmediate(resolve));
