import type { TwinNodeState } from '@orrery/contract';

export const TWIN = Symbol('TwinView');

/** The twin, for other modules. */
export interface TwinView {
  readonly enabled: boolean;
  /** Revision of the infrastructure that the twin has built; null: it is building its first, has failed to build one, or is not known. */
  readonly builtRevision: number | null;
  /** What the twin last reported of an emulated node; null: nothing. */
  nodeState(node: string): TwinNodeState | null;
  onChange(listener: () => void): void;
}
