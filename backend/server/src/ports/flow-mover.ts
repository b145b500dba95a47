import type { MigrateRequest, Operation } from '@orrery/contract';

export const FLOW_MOVER = Symbol('FlowMover');

/** Moves flows with their state between instances of an NF, for control loops of the server. */
export interface FlowMover {
  /**
   * Begins a move as an operation with that id; an id that there is already gives its operation, so that asking again after a
   * restart moves nothing twice. Throws 404, 409 and 422 with the reasons where flows cannot be moved.
   */
  begin(from: string, request: MigrateRequest, by: string, id: string): Promise<Operation>;
}
