import type { Infrastructure, NfDescriptor, Plan, PlannedPipeline, PlanStrategy } from '@orrery/contract';

/** Everything that a plan depends on: the same input gives the same plan. */
export interface PlanInput {
  readonly id: string;
  readonly created_ms: number;
  readonly strategy: PlanStrategy;
  readonly seed: number;
  /** All pipelines that must run afterwards, not only those that change. */
  readonly pipelines: readonly PlannedPipeline[];
  readonly descriptors: readonly NfDescriptor[];
  /** Only the servers given here may be used. */
  readonly infrastructure: Infrastructure;
  /** The plan that runs now: its instances stay where they are. */
  readonly base: Plan | null;
  readonly budget: { readonly iterations: number };
}

/** Plans without side effects: a dry run shows the result and a deployment applies it. */
export function makePlan(_input: PlanInput): Plan {
  throw new Error('not planned yet');
}
