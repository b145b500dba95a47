import type { DriverChange, FieldError, Infrastructure } from '@orrery/contract';

export const INFRASTRUCTURE = Symbol('InfrastructureStore');

/** The stored infrastructure. */
export interface InfrastructureStore {
  readonly current: { readonly revision: number; readonly infrastructure: Infrastructure };
  onChange(listener: () => void): void;
  /** Adds a check that runs before an infrastructure is stored; any error prevents that. Pointers are into the infrastructure. */
  checkBy(check: (infrastructure: Infrastructure) => Promise<readonly FieldError[]>): void;
  /** Why an infrastructure would not be stored, naming what is wrong by its id; empty: it would, unless it lacks what is in use. */
  errorsOf(infrastructure: Infrastructure): Promise<readonly FieldError[]>;
  /**
   * Gives switches other drivers, in the infrastructure as it is now. Nothing is stored where they have them already. Throws 409
   * if a switch is not there, and 422 with the reasons of `errorsOf`, whatever they are about.
   */
  changeDrivers(changes: readonly Pick<DriverChange, 'switch' | 'to'>[], actor: string): Promise<void>;
}
