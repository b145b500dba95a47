import { z } from 'zod';
import { NfSplit } from './flow-steering.js';

/** How instances are assigned to servers; all but `e2` are baselines (E2 3.4.1). */
export const PlanStrategy = z.enum(['e2', 'packing', 'first-fit-decreasing', 'first-fit', 'random']);
export type PlanStrategy = z.infer<typeof PlanStrategy>;

/** How the route of a flow over the instances is selected (HYPER IV-B). */
export const ChainingStrategy = z.enum(['hyper', 'stratos', 'function-only', 'random']);
export type ChainingStrategy = z.infer<typeof ChainingStrategy>;

/** How a linear chain is parallelized (HydraNF 6.4.1). */
export const ParallelStrategy = z.enum([
  'orrery',
  'fewest-bins',
  'first-fit',
  'overload-and-remove',
  'genetic',
  'parabox',
  'sequential',
]);
export type ParallelStrategy = z.infer<typeof ParallelStrategy>;

/** How a dataflow graph is cut into tasks (Alpine 5.3). */
export const SchedulingStrategy = z.enum(['alpine', 'semi-manual', 'manual', 'run-to-completion']);
export type SchedulingStrategy = z.infer<typeof SchedulingStrategy>;

/** `constrained`: no task is granted more packets than arrive, to spend no cycles on polling empty queues. */
export const SchedulingMode = z.enum(['constrained', 'free']);
export type SchedulingMode = z.infer<typeof SchedulingMode>;

/** `parallel`: NFs that do not depend on each other process copies of a packet at the same time (HydraNF 6). */
export const Execution = z.enum(['sequential', 'parallel']);
export type Execution = z.infer<typeof Execution>;

/**
 * How the cores that run a chain share their time among its tasks. `round-robin`: one task per instance, served in turn.
 * `planned`: tasks and scheduler trees computed with the strategy `scheduling` (Alpine 5.3), on one core where they have room.
 * `split`: the same, with the tasks divided over the cores of a server (Alpine 5.3.2).
 */
export const ScheduleMode = z.enum(['round-robin', 'planned', 'split']);
export type ScheduleMode = z.infer<typeof ScheduleMode>;

/** Whether tasks and scheduler trees are computed. */
export function isPlanned(schedule: ScheduleMode | undefined): boolean {
  return schedule !== undefined && schedule !== 'round-robin';
}

/** Whether the first NFs of a chain run on the switches where its packets enter, if these can run them (E2 3.4.1 step 5). */
export const OffloadMode = z.enum(['never', 'where-possible']);
export type OffloadMode = z.infer<typeof OffloadMode>;

/** How a chain runs. Belongs to its deployment, not to one plan. */
export const DeploymentOptions = z.strictObject({
  execution: Execution.optional().describe('absent: as the chain runs now; sequential for a new chain'),
  schedule: ScheduleMode.optional().describe('absent: as the chain runs now; round-robin for a new chain'),
  offload: OffloadMode.optional().describe('absent: as the chain runs now; never for a new chain'),
  splits: z.array(NfSplit).max(64).optional().describe('of the NFs named; the others are split as they are now'),
});
export type DeploymentOptions = z.infer<typeof DeploymentOptions>;

/** Options of planning, which is deterministic: the same options and input give the same plan. */
export const PlanOptions = z.strictObject({
  strategy: PlanStrategy.default('e2'),
  chaining: ChainingStrategy.default('hyper'),
  parallelization: ParallelStrategy.default('orrery'),
  scheduling: SchedulingStrategy.default('alpine'),
  scheduling_mode: SchedulingMode.default('constrained'),
  seed: z.int().min(0).default(1),
});
export type PlanOptions = z.infer<typeof PlanOptions>;
