import type { TwinNodeState } from '@orrery/contract';

export const TWIN = Symbol('TwinView');

/** The twin, for other modules. */
export interface TwinView {
  readonly enabled: boolean;
  /** What the twin last reported of an emulated node; null: nothing. */
  nodeState(node: string): TwinNodeState | null;
  onChange(listener: () => void): void;
}
