import type { Operation, Plan, PlanRequest } from '@orrery/contract';

export const DEPLOYER = Symbol('Deployer');

export type PlanChange = Partial<Pick<PlanRequest, 'implementations' | 'without_slots' | 'remove'>>;

/** Changes what runs, for parts of the server that decide by themselves. */
export interface Deployer {
  /**
   * Throws 409 and 422 with the reasons where the plan cannot be made or applied. `before`: the plan that is still in
   * force where the newest accepted one did not come about.
   */
  change(request: PlanChange, kind: Operation['kind'], by: string, before?: Plan | null): Promise<Operation>;
  /** The newest state of an operation that was accepted lately. */
  operation(id: string): Operation | undefined;
}
