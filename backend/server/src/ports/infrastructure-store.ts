import type { FieldError, Infrastructure } from '@orrery/contract';

export const INFRASTRUCTURE = Symbol('InfrastructureStore');

/** The stored infrastructure. */
export interface InfrastructureStore {
  readonly current: { readonly revision: number; readonly infrastructure: Infrastructure };
  onChange(listener: () => void): void;
  /** Adds a check that runs before an infrastructure is stored; any error prevents that. Pointers are into the infrastructure. */
  checkBy(check: (infrastructure: Infrastructure) => Promise<readonly FieldError[]>): void;
}
