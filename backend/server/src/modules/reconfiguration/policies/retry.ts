const FIRST_MS = 5000;
const MOST_MS = 300_000;

/** Delay before a refused or failed move is retried, growing with each failure. `tries`: earlier consecutive failures. */
export function retryMs(tries: number): number {
  return Math.min(MOST_MS, FIRST_MS * 2 ** tries);
}
