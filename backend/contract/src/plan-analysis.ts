import { z } from 'zod';
import { Id, Name, RateBps } from './common.js';

/** What limited a decision: needed, available, and where (E2 3.4.1). */
export const Constraint = z.strictObject({
  constraint: z.enum([
    'cpu',
    'memory',
    'nic-bandwidth',
    'link-bandwidth',
    'switch-table',
    'switch-ability',
    'switch-program',
    'switch-path',
    'affinity',
    'max-instances',
    'latency',
    'throughput',
    'metadata',
    'hops',
    'implementation',
    'engine-ability',
    'switch-action',
    'cpu-time',
    'classifier',
    'function',
    'connection',
    'capacity',
    'deployment',
    'excluded',
  ]),
  needed: z.number(),
  available: z.number(),
  unit: z.string(),
  where: z.string(),
  meanwhile: z
    .literal(true)
    .optional()
    .describe('`needed` is the most while the plan is applied, not what is left then'),
});
export type Constraint = z.infer<typeof Constraint>;

/** A part of planning that makes decisions. */
export const PlanPart = z.enum([
  'sizing',
  'infrastructure',
  'placement',
  'offload',
  'chaining',
  'parallelization',
  'provisioning',
  'scheduling',
]);
export type PlanPart = z.infer<typeof PlanPart>;

/** An alternative with its cost, or the constraint that ruled it out. */
export const Candidate = z.strictObject({
  name: z.string().describe('a server, an implementation, an instance or a strategy'),
  chosen: z.boolean(),
  feasible: z.boolean(),
  figure: z.number().nullable().describe('the value that the decision minimizes; null: not computed'),
  unit: z.string().describe('of the figure'),
  constraint: Constraint.nullable(),
});
export type Candidate = z.infer<typeof Candidate>;

export const Reason = z.strictObject({
  part: PlanPart,
  subject: Id,
  decision: z.string(),
  because: z.string(),
  candidates: z.array(Candidate).default([]),
  constraint: Constraint.nullable().default(null),
});
export type Reason = z.infer<typeof Reason>;

/** How far a result can be from the optimum. */
export const Quality = z.strictObject({
  part: PlanPart,
  subject: Id.describe('`placement`, or the chain or class of the result'),
  objective: z.string().describe('what is minimized'),
  unit: z.string(),
  value: z.number().min(0),
  bound: z.number().min(0).describe('lower bound of the value'),
  gap: z.number().min(0).max(1).describe('(value - bound) / value: the most that a better result could save'),
  optimal: z.boolean().describe('proven: the value equals the bound'),
  method: z.string().describe('how the result was found'),
  proof: z.string().describe('how the bound was proven'),
});
export type Quality = z.infer<typeof Quality>;

/** A path from ingress to egress with predictions for its packets, and the best route over the instances. */
export const ClassForecast = z.strictObject({
  id: Id,
  chain_id: Id,
  edges: z.array(Name),
  nodes: z.array(Name).describe('NFs in order'),
  rate_bps: RateBps,
  mean_us: z.number().min(0),
  p50_us: z.number().min(0).optional().describe('median; absent in plans of earlier versions'),
  p99_us: z.number().min(0),
  least_us: z.number().min(0).describe('lowest latency possible on this hardware: no queue, no hop'),
  throughput_bps: RateBps.describe('rate at which the first resource saturates, with all other traffic as estimated'),
  bottleneck: z.string(),
  way: z
    .strictObject({
      instances: z.array(Id),
      latency_us: z.number().min(0),
      bound_us: z.number().min(0).describe('lower bound over all routes'),
    })
    .nullable()
    .describe('the route that the chaining strategy selects for a flow (HYPER IV-B)'),
});
export type ClassForecast = z.infer<typeof ClassForecast>;

/** Two NFs of a chain that access the same field or state. */
export const NfConflict = z.strictObject({
  earlier: Name,
  later: Name,
  parallel: z.boolean().describe('they can still run in parallel'),
  sentence: z.string(),
});
export type NfConflict = z.infer<typeof NfConflict>;

/** Where to place mirror and merge of a parallel step for the least traffic (HydraNF 6.5.2). */
export const MergePlace = z.strictObject({
  step: z.string().describe('the step as one line of text'),
  chosen: z.string().nullable().describe('null: every option overloads a link'),
  link_bytes: z.number().describe('bytes on links per packet'),
  switch_traversals: z.number(),
  rejected: z.array(
    z.strictObject({ title: z.string(), link_bytes: z.number(), switch_traversals: z.number(), because: z.string() }),
  ),
});
export type MergePlace = z.infer<typeof MergePlace>;

/** Instances of a parallel form by server, assuming empty servers (HydraNF 6.4.2). */
export const ParallelProvisioning = z.strictObject({
  counts: z.array(z.strictObject({ node: Name, server: Name, instances: z.int().min(1) })),
  cross_traffic_bps: z.number().min(0),
  conflicts: z.array(Constraint).describe('why there is no solution; empty if counts are given'),
  compared: z.array(
    z.strictObject({ strategy: z.string(), cross_traffic_bps: z.number().nullable(), chosen: z.boolean() }),
  ),
  merges: z.array(MergePlace),
});
export type ParallelProvisioning = z.infer<typeof ParallelProvisioning>;

/**
 * The parallel form of NFs in line (HydraNF 6). With `execution: parallel`, on engines that declare `mirror` and `merge`, these
 * are the forms in which the chain runs; otherwise each is a form that a path of the chain could have. Figures are predictions.
 */
export const ParallelForm = z.strictObject({
  id: Id,
  chain_id: Id,
  nodes: z.array(Name),
  strategy: z.string(),
  conflicts: z.array(NfConflict),
  critical_path: z.array(Name),
  critical_path_us: z.number().min(0),
  sequential_us: z.number().min(0),
  latency_us: z.number().min(0),
  bins: z.array(z.array(Name)).describe('parallel branches at the widest step'),
  mirrors: z.int().min(0),
  merges: z.int().min(0),
  copies: z.int().min(0),
  reverted: z.boolean().describe('the gain was too small: the chain stays sequential'),
  text: z.string().describe('the graph as one line of text: (nat | firewall), balancer'),
  graph: z
    .strictObject({
      vertices: z.array(
        z.strictObject({ id: z.string(), kind: z.enum(['nf', 'mirror', 'merge']), node: Name.nullable() }),
      ),
      links: z.array(z.strictObject({ from: z.string(), to: z.string() })),
    })
    .describe('from left to right'),
  rejected: z.array(
    z.strictObject({
      strategy: z.string(),
      text: z.string(),
      latency_us: z.number(),
      copies: z.int(),
      because: z.string(),
    }),
  ),
  provisioning: ParallelProvisioning.nullable().describe('null if the chain stays sequential'),
});
export type ParallelForm = z.infer<typeof ParallelForm>;

export const SchedulerVertex = z.strictObject({
  id: z.string(),
  parent: z.string().nullable(),
  kind: z.enum(['priority', 'weighted-fair', 'rate-limit', 'task']),
  label: z.string(),
  worker: z.int().min(0),
  weight: z.number().nullable().describe('share relative to its siblings'),
  level: z.int().nullable().describe('0 is served first'),
});
export type SchedulerVertex = z.infer<typeof SchedulerVertex>;

/**
 * Tasks and scheduler of a chain (Alpine 5.3): as applied if its schedule is planned, otherwise a prediction of what such a
 * schedule would achieve.
 */
export const ScheduleForm = z.strictObject({
  chain_id: Id,
  strategy: z.string(),
  mode: z.string(),
  feasible: z.boolean(),
  conflicts: z.array(Constraint.extend({ classes: z.array(Id), modules: z.array(z.string()), slos: z.array(Name) })),
  workers: z.int().min(0),
  replicated: z.boolean().describe('every worker runs all tasks on its share of the flows; each has this tree'),
  cores: z
    .array(z.strictObject({ server: Name, core: z.int().min(0) }))
    .default([])
    .describe('of each worker; empty if tasks are replicated'),
  tasks: z.array(
    z.strictObject({
      id: z.string(),
      modules: z.array(z.string()),
      classes: z.array(Id),
      useful_cycles_per_second: z.number().min(0),
      idle_cycles_per_second: z.number().min(0),
      overhead_cycles_per_second: z.number().min(0),
    }),
  ),
  tree: z.array(SchedulerVertex),
  objectives: z.array(
    z.strictObject({ slo_id: Name, wanted: z.number(), predicted: z.number().nullable(), met: z.boolean() }),
  ),
  throughput_pps: z.number().min(0),
  idle_share: z.number().min(0).max(1),
  slo_error: z.number().min(0),
});
export type ScheduleForm = z.infer<typeof ScheduleForm>;

/** An instance that a switch could run instead of a server (E2 3.4.1 step 5): a proposal. */
export const Offload = z.strictObject({
  instance_id: Id,
  switch: Name,
  entries: z.int().min(0),
  frees_core_share: z.number().min(0),
  saves_bps: RateBps.describe(
    'traffic planned for it, which no longer goes to the server and back for it; less where what it lets through goes to one all the same',
  ),
});
export type Offload = z.infer<typeof Offload>;
