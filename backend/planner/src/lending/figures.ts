/** Jain's index of fairness: 1 if all have the same, 1/n if one has everything; null: nobody has anything. */
export function jainIndex(shares: readonly number[]): number | null {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return squares > 0 ? (sum * sum) / (shares.length * squares) : null;
}

/** Share of an accelerator's time that switching takes: Tsw / (Tsw + T) (SSM II.B). */
export function switchOverhead(switch_ms: number, slice_ms: number): number {
  return switch_ms / (switch_ms + slice_ms);
}
