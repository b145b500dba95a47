import type { HandoverProgress, StagedSplit } from '@orrery/contract';

export const SPLIT_HANDOVERS = Symbol('SplitHandovers');

/** Splits of first NFs on their way from the engines to the switches. */
export interface SplitHandovers {
  /** Null: none is due. */
  progressOf(chainId: string, nodeId: string): HandoverProgress | null;
  /** Flows that stay elsewhere than the ranges say, as switches would have to keep them. Or why that cannot be now. */
  exceptionsOf(chainId: string, nodeId: string, signal: AbortSignal): Promise<StagedSplit['exceptions'] | string>;
}
