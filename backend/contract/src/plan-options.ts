import { z } from 'zod';

/** How instances get their servers; all but `e2` are what it is compared with (E2 3.4.1). */
export const PlanStrategy = z.enum(['e2', 'packing', 'first-fit-decreasing', 'first-fit', 'random']);
export type PlanStrategy = z.infer<typeof PlanStrategy>;

/** How a flow's way over the instances is chosen (HYPER IV-B). */
export const ChainingStrategy = z.enum(['hyper', 'stratos', 'function-only', 'random']);
export type ChainingStrategy = z.infer<typeof ChainingStrategy>;

/** How a linear chain becomes a parallel one (HydraNF 6.4.1). */
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

/** `constrained`: no task is granted more packets than arrive, so that no cycle is spent in polling an empty queue. */
export const SchedulingMode = z.enum(['constrained', 'free']);
export type SchedulingMode = z.infer<typeof SchedulingMode>;

/** What a plan is made with; the same options and input give the same plan. */
export const PlanOptions = z.strictObject({
  strategy: PlanStrategy.default('e2'),
  chaining: ChainingStrategy.default('hyper'),
  parallelization: ParallelStrategy.default('orrery'),
  scheduling: SchedulingStrategy.default('alpine'),
  scheduling_mode: SchedulingMode.default('constrained'),
  seed: z.int().min(0).default(1),
});
export type PlanOptions = z.infer<typeof PlanOptions>;
