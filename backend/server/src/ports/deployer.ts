import type { Operation, Plan, PlanRequest } from '@orrery/contract';

export const DEPLOYER = Symbol('Deployer');

export type PlanChange = Partial<
  Pick<
    PlanRequest,
    | 'implementations'
    | 'without_slots'
    | 'without_servers'
    | 'without_boards'
    | 'remove'
    | 'chains'
    | 'move'
    | 'max_moved'
    | 'when_short'
  >
>;

/** Changes what runs, for control loops of the server. */
export interface Deployer {
  /**
   * Plans a change of what runs and accepts it as an operation with that id; an id that was accepted already gives its
   * operation, so that asking again after a restart changes nothing twice. Throws 409 and 422 with the reasons where the
   * plan cannot be made or applied, or `refusal` finds a reason against it. That is asked of this plan only, not where the
   * operation is planned again: with `as_planned` it is not.
   */
  change(
    request: PlanChange,
    operation: Pick<Operation, 'id' | 'kind' | 'by' | 'as_planned'>,
    refusal?: (plan: Plan) => string | null,
  ): Promise<Operation>;
  /** Takes an operation back that is not over, so that it ends without effect; one that is over stays as it is. */
  takeBack(id: string, why: string, by: string): Promise<void>;
  /** Accepted operations that have not finished, the running one first. */
  underWay(): readonly Operation[];
  /** The latest state of a recently accepted operation. */
  operation(id: string): Operation | undefined;
}
