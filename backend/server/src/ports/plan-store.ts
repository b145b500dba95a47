import type { DriverChange, Plan, PlanRequest } from '@orrery/contract';
import type { BetterPlan, MeasuredLoad, Move, UpkeepComparison, WayBound } from '@orrery/planner';
import type { Shelf } from './plan-shelves.js';

export const PLANS = Symbol('PlanStore');

export interface CompareLimits {
  readonly loads: readonly MeasuredLoad[];
  readonly max_moved: number;
  /** Moves that were found before and are kept where nothing else is better. */
  readonly held: readonly Move[];
  /** Of service requests; absent: none. */
  readonly ways?: readonly WayBound[];
}

/** What runs under the loads that are measured, beside the best plan that was found for them. */
export interface PlacementComparison extends Omit<UpkeepComparison, 'better'> {
  readonly better:
    | (Omit<BetterPlan, 'plan'> & {
        /** Instances whose flow state goes with them, and NFs of which it is lost. */
        readonly states_moved: number;
        readonly states_lost: number;
      })
    | null;
}

export interface PlanStore {
  /** Throws 404. */
  get(id: string): Promise<Plan>;
  /** What `make` would return, without storing it. Until something changes, `make` then returns this same plan. */
  lookAhead(request: PlanRequest, base: Plan | null, coming?: readonly DriverChange[]): Promise<Plan>;
  /** As `lookAhead`, but `make` does not return it: for many changes of which few will be made. */
  tryOut(request: PlanRequest, base: Plan | null, coming?: readonly DriverChange[]): Promise<Plan>;
  /**
   * Plans on top of `base`, the plan in effect once every accepted operation is done, and stores the result. `coming`: what they
   * will have changed of the drivers of switches by then. `shelf`: where it is kept; absent: among the server's own.
   */
  make(request: PlanRequest, base: Plan | null, coming?: readonly DriverChange[], shelf?: Shelf): Promise<Plan>;
  /**
   * Compares what runs by `base`, in the thread that plans, after all plans; stores nothing. Where it still waits when `signal`
   * aborts, it is not made.
   */
  compare(
    limits: CompareLimits,
    base: Plan,
    coming?: readonly DriverChange[],
    signal?: AbortSignal,
  ): Promise<PlacementComparison>;
  /** Why the NFs of its chains are, or may be, described otherwise than in the plan, as a sentence; null: they are not. */
  outdatedBy(plan: Plan): string | null;
}
