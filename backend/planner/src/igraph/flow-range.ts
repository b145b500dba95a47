import { FLOW_SPACE, type FlowRange } from '@orrery/contract';

export const WHOLE_RANGE: FlowRange = { lo: 0, hi: FLOW_SPACE };

/** The i-th of n equal parts of the flow space. */
export function equalRange(i: number, n: number): FlowRange {
  return { lo: Math.floor((i * FLOW_SPACE) / n), hi: Math.floor(((i + 1) * FLOW_SPACE) / n) };
}

/** Part of the flow space that the i-th of n equal ranges has: whole identities, so not quite 1/n. */
export function portion(i: number, n: number): number {
  const { lo, hi } = equalRange(i, n);
  return (hi - lo) / FLOW_SPACE;
}
