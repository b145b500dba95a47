import type { Infrastructure } from '@orrery/contract';

export const INFRASTRUCTURE = Symbol('InfrastructureStore');

/** The infrastructure that is stored. */
export interface InfrastructureStore {
  readonly current: { readonly revision: number; readonly infrastructure: Infrastructure };
  onChange(listener: () => void): void;
}
