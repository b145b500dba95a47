import type { Plan } from '@orrery/contract';

export interface PredictedLatency {
  readonly mean_us: number;
  readonly p99_us: number;
}

/** Latency of a chain in a plan: the mean over its packets, and the 99th percentile of its slowest path. Null: not predicted. */
export function predictedLatency({ classes }: Pick<Plan, 'classes'>, chainId: string): PredictedLatency | null {
  const own = classes.filter(({ chain_id }) => chain_id === chainId);
  if (own.length === 0) return null;
  const total = own.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
  const weight = (rate_bps: number) => (total > 0 ? rate_bps / total : 1 / own.length);
  return {
    mean_us: own.reduce((sum, { mean_us, rate_bps }) => sum + mean_us * weight(rate_bps), 0),
    p99_us: Math.max(...own.map(({ p99_us }) => p99_us)),
  };
}

/** Share of the latency in sequence that running in parallel saves; negative: it takes longer. */
export function gainOf(sequential_us: number | undefined, parallel_us: number | undefined): number | null {
  return sequential_us === undefined || parallel_us === undefined || sequential_us <= 0
    ? null
    : 1 - parallel_us / sequential_us;
}

/** The difference of two shares: `1.2 points more`, `as predicted`. */
export function pointsText(difference: number): string {
  const points = Math.abs(difference * 100).toFixed(1);
  return points === '0.0' ? 'as predicted' : `${points} points ${difference < 0 ? 'less' : 'more'}`;
}
