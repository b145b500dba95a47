import type { Plan, PlanRequest } from '@orrery/contract';

export const PLANS = Symbol('PlanStore');

export interface PlanStore {
  /** Throws 404. */
  get(id: string): Promise<Plan>;
  /** What `make` would return, without storing it. Until something changes, `make` then returns this same plan. */
  lookAhead(request: PlanRequest, base: Plan | null): Promise<Plan>;
  /** Plans on top of `base`, the plan in effect once every accepted operation is done, and stores the result. */
  make(request: PlanRequest, base: Plan | null): Promise<Plan>;
  /** Why the NFs of its chains are, or may be, described otherwise than in the plan, as a sentence; null: they are not. */
  outdatedBy(plan: Plan): string | null;
}
