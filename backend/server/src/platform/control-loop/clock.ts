/** Time as loops see it. Waits use a monotonic clock. */
export interface Clock {
  /** Wall-clock time, for display. */
  nowMs(): number;
  /** Returns a function that cancels it. */
  after(ms: number, work: () => void): () => void;
  /** Monotonic time. */
  elapsedMs(): number;
}

/** Node's timers are monotonic. */
export const SYSTEM_CLOCK: Clock = {
  nowMs: () => Date.now(),
  elapsedMs: () => performance.now(),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
