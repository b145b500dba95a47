import { FLOW_SPACE, type FlowRange } from '@orrery/contract';

export const WHOLE_RANGE: FlowRange = { lo: 0, hi: FLOW_SPACE };

/** The flow space in n equal parts, of whole identities: of more parts than these some are empty, but nothing has so many instances. */
export function equalRanges(n: number): FlowRange[] {
  return Array.from({ length: n }, (_, i) => ({
    lo: Math.floor((i * FLOW_SPACE) / n),
    hi: Math.floor(((i + 1) * FLOW_SPACE) / n),
  }));
}

/** Part of the flow space that a range holds: whole identities, so of n equal ranges not quite 1/n. */
export function portion({ lo, hi }: FlowRange): number {
  return (hi - lo) / FLOW_SPACE;
}
