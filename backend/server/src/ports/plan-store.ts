import type { DriverChange, Plan, PlanRequest } from '@orrery/contract';

export const PLANS = Symbol('PlanStore');

export interface PlanStore {
  /** Throws 404. */
  get(id: string): Promise<Plan>;
  /** What `make` would return, without storing it. Until something changes, `make` then returns this same plan. */
  lookAhead(request: PlanRequest, base: Plan | null, coming?: readonly DriverChange[]): Promise<Plan>;
  /** As `lookAhead`, but `make` does not return it: for many changes of which few will be made. */
  tryOut(request: PlanRequest, base: Plan | null, coming?: readonly DriverChange[]): Promise<Plan>;
  /**
   * Plans on top of `base`, the plan in effect once every accepted operation is done, and stores the result. `coming`: what they
   * will have changed of the drivers of switches by then.
   */
  make(request: PlanRequest, base: Plan | null, coming?: readonly DriverChange[]): Promise<Plan>;
  /** Why the NFs of its chains are, or may be, described otherwise than in the plan, as a sentence; null: they are not. */
  outdatedBy(plan: Plan): string | null;
}
