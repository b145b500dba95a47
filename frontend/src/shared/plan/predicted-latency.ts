import type { Plan } from '@orrery/contract';

export interface PredictedLatency {
  readonly mean_us: number;
  /** Null: the plan is of a version that did not predict it. */
  readonly p50_us: number | null;
  readonly p99_us: number;
}

/**
 * Latency of a chain in a plan: the mean over its packets, the median of the path that the packet in the middle takes, and
 * the 99th percentile of its slowest path. Null: not predicted.
 */
export function predictedLatency({ classes }: Pick<Plan, 'classes'>, chainId: string): PredictedLatency | null {
  const own = classes.filter(({ chain_id }) => chain_id === chainId);
  if (own.length === 0) return null;
  const total = own.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
  const weighed = own.map((path) => ({ ...path, weight: total > 0 ? path.rate_bps / total : 1 / own.length }));
  return {
    mean_us: weighed.reduce((sum, { mean_us, weight }) => sum + mean_us * weight, 0),
    p50_us: middleOf(weighed.map(({ p50_us, weight }) => ({ value: p50_us, weight }))),
    p99_us: Math.max(...own.map(({ p99_us }) => p99_us)),
  };
}

/** The value at which half of the weight is reached; null if one is not known. Precondition: the weights sum up to 1. */
function middleOf(parts: readonly { readonly value: number | undefined; readonly weight: number }[]): number | null {
  let reached = 0;
  const known = parts.flatMap(({ value, weight }) => (value === undefined ? [] : [{ value, weight }]));
  if (known.length < parts.length) return null;
  for (const { value, weight } of known.toSorted((a, b) => a.value - b.value)) {
    reached += weight;
    if (reached >= 0.5 - 1e-9) return value;
  }
  return null;
}

/** Share of the latency in sequence that running in parallel saves; negative: it takes longer. */
export function gainOf(
  sequential_us: number | null | undefined,
  parallel_us: number | null | undefined,
): number | null {
  return sequential_us == null || parallel_us == null || sequential_us <= 0 ? null : 1 - parallel_us / sequential_us;
}

/** The difference of two shares: `1.2 points more`, `as predicted`. */
export function pointsText(difference: number): string {
  const points = Math.abs(difference * 100).toFixed(1);
  return points === '0.0' ? 'as predicted' : `${points} points ${difference < 0 ? 'less' : 'more'}`;
}
