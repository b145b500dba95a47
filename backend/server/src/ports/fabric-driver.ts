import type { FabricSpec } from '@orrery/contract';

export const FABRIC = Symbol('FabricDriver');

/** The switches between the servers. */
export interface FabricDriver {
  /** Resolves when the rules are in force; from then on they are kept in force. Rejects with what went wrong. */
  apply(spec: FabricSpec): Promise<void>;
}
