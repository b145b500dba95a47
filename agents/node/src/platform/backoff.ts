export interface BackoffLimits {
  first_ms: number;
  most_ms: number;
}

/** Delay before attempt number `attempt` (from 1): doubled each time up to a cap, with jitter over its upper half. */
export function backoffMs({ first_ms, most_ms }: BackoffLimits, attempt: number, random: number): number {
  const ceiling = Math.min(most_ms, first_ms * 2 ** Math.min(attempt - 1, 30));
  return ceiling / 2 + (ceiling / 2) * random;
}
