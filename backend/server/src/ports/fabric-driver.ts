import type { FabricSpec } from '@orrery/contract';

export const FABRIC = Symbol('FabricDriver');
export const FABRIC_VIEW = Symbol('FabricView');

/** The switches between the servers. */
export interface FabricDriver {
  /** Resolves when the rules are installed; from then on they are maintained. Rejects with the error, and on abort. */
  apply(spec: FabricSpec, signal: AbortSignal): Promise<void>;
}

/** State of the switches, for other modules. */
export interface FabricView {
  /** Why switches do not forward as desired, one line each; empty: they do, or their twin is off. */
  readonly troubles: readonly string[];
  onChange(listener: () => void): void;
}
