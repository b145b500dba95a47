import type { Plan, PlanRequest } from '@orrery/contract';

export const PLANS = Symbol('PlanStore');

export interface PlanStore {
  /** Throws 404. */
  get(id: string): Promise<Plan>;
  /**
   * Plans on top of `base`, the plan that will run when every accepted operation is done, and stores the result. Where
   * `base` did not come about, instances of the plan `before` it stay too.
   */
  make(request: PlanRequest, base: Plan | null, before?: Plan | null): Promise<Plan>;
}
