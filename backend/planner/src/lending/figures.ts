/** Jain's index of fairness: 1 if all have the same, 1/n if one has everything; null: nobody has anything. */
export function jainIndex(shares: readonly number[]): number | null {
  const most = shares.reduce((a, b) => Math.max(a, b), 0);
  if (most === 0) return null;
  const parts = shares.map((share) => share / most);
  const sum = parts.reduce((total, part) => total + part, 0);
  const squares = parts.reduce((total, part) => total + part * part, 0);
  return (sum * sum) / (shares.length * squares);
}

/** Share of an accelerator's time that switching takes: Tsw / (Tsw + T) (SSM II.B); 0 where it takes none. */
export function switchOverhead(switch_ms: number, slice_ms: number): number {
  return switch_ms === 0 ? 0 : switch_ms / (switch_ms + slice_ms);
}
