import type { HandoverProgress } from '@orrery/contract';

export const SPLIT_HANDOVERS = Symbol('SplitHandovers');

/** Splits of first NFs on their way from the engines to the switches. */
export interface SplitHandovers {
  /** Null: none is due. */
  progressOf(chainId: string, nodeId: string): HandoverProgress | null;
}
