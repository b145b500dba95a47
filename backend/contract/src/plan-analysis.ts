import { z } from 'zod';
import { Id, Name, RateBps } from './common.js';

/** Why a decision fell as it did: what was needed, what was there, where (E2 3.4.1). */
export const Constraint = z.strictObject({
  constraint: z.enum([
    'cpu',
    'memory',
    'nic-bandwidth',
    'link-bandwidth',
    'switch-table',
    'affinity',
    'max-instances',
    'latency',
    'throughput',
    'metadata',
    'hops',
    'implementation',
    'switch-action',
    'cpu-time',
    'classifier',
    'function',
    'connection',
    'capacity',
    'deployment',
  ]),
  needed: z.number(),
  available: z.number(),
  unit: z.string(),
  where: z.string(),
});
export type Constraint = z.infer<typeof Constraint>;

/** A part of planning that decides something. */
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

/** What could have been chosen, with what it would have cost or what forbade it. */
export const Candidate = z.strictObject({
  name: z.string().describe('a server, an implementation, an instance or a strategy'),
  chosen: z.boolean(),
  feasible: z.boolean(),
  figure: z.number().nullable().describe('what the decision keeps small; null where nothing was computed'),
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

/** How far an answer can be from the best there is. */
export const Quality = z.strictObject({
  part: PlanPart,
  subject: Id.describe('`placement`, or the pipeline or class that the answer is for'),
  objective: z.string().describe('what the answer keeps small'),
  unit: z.string(),
  value: z.number(),
  bound: z.number().describe('no answer can be smaller'),
  gap: z.number().min(0).max(1).describe('the share of the value that a better answer could save at most'),
  optimal: z.boolean().describe('proven: value and bound meet'),
  method: z.string().describe('how the answer was found'),
  proof: z.string().describe('how the bound is known'),
});
export type Quality = z.infer<typeof Quality>;

/** A path from ingress to egress with what is predicted for its packets, and the best way over the instances. */
export const ClassForecast = z.strictObject({
  id: Id,
  pipeline_id: Id,
  edges: z.array(Name),
  nodes: z.array(Name).describe('NFs in order'),
  rate_bps: RateBps,
  mean_us: z.number().min(0),
  p99_us: z.number().min(0),
  least_us: z.number().min(0).describe('no placement on this hardware is faster: no queue, no hop'),
  throughput_bps: RateBps.describe('at which the first resource is full, all else at its estimate'),
  bottleneck: z.string(),
  way: z
    .strictObject({
      instances: z.array(Id),
      latency_us: z.number().min(0),
      bound_us: z.number().min(0).describe('no way over the instances is shorter'),
    })
    .nullable()
    .describe('the way that the chaining strategy picks for a flow (HYPER IV-B)'),
});
export type ClassForecast = z.infer<typeof ClassForecast>;

/** Two NFs of a chain that touch the same field or state. */
export const NfConflict = z.strictObject({
  earlier: Name,
  later: Name,
  parallel: z.boolean().describe('they may run side by side all the same'),
  sentence: z.string(),
});
export type NfConflict = z.infer<typeof NfConflict>;

/** Where mirror and merge of a parallel step would stand with the least traffic (HydraNF 6.5.2). */
export const MergePlace = z.strictObject({
  step: z.string().describe('the step on one line'),
  chosen: z.string().nullable().describe('null: every option fills a link'),
  link_bytes: z.number().describe('over links, for each packet'),
  switch_traversals: z.number(),
  rejected: z.array(
    z.strictObject({ title: z.string(), link_bytes: z.number(), switch_traversals: z.number(), because: z.string() }),
  ),
});
export type MergePlace = z.infer<typeof MergePlace>;

/** Instances of a parallel form by server, if the servers were empty (HydraNF 6.4.2). */
export const ParallelProvisioning = z.strictObject({
  counts: z.array(z.strictObject({ node: Name, server: Name, instances: z.int().min(1) })),
  cross_traffic_bps: z.number().min(0),
  conflicts: z.array(Constraint).describe('what forbids any; empty where counts are given'),
  compared: z.array(
    z.strictObject({ strategy: z.string(), cross_traffic_bps: z.number().nullable(), chosen: z.boolean() }),
  ),
  merges: z.array(MergePlace),
});
export type ParallelProvisioning = z.infer<typeof ParallelProvisioning>;

/** The parallel form of a linear chain (HydraNF 6). The twin runs chains in sequence so far: figures are predictions. */
export const ParallelForm = z.strictObject({
  id: Id,
  pipeline_id: Id,
  nodes: z.array(Name),
  strategy: z.string(),
  conflicts: z.array(NfConflict),
  critical_path: z.array(Name),
  critical_path_us: z.number().min(0),
  sequential_us: z.number().min(0),
  latency_us: z.number().min(0),
  bins: z.array(z.array(Name)).describe('branches side by side at the widest place'),
  mirrors: z.int().min(0),
  merges: z.int().min(0),
  copies: z.int().min(0),
  reverted: z.boolean().describe('the gain was too small, so that the chain stays sequential'),
  text: z.string().describe('the graph on one line: (nat | firewall), balancer'),
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
  provisioning: ParallelProvisioning.nullable().describe('null where the chain stays sequential'),
});
export type ParallelForm = z.infer<typeof ParallelForm>;

export const SchedulerVertex = z.strictObject({
  id: z.string(),
  parent: z.string().nullable(),
  kind: z.enum(['priority', 'weighted-fair', 'rate-limit', 'task']),
  label: z.string(),
  worker: z.int().min(0),
  weight: z.number().nullable().describe('share among its siblings'),
  level: z.int().nullable().describe('0 is served first'),
});
export type SchedulerVertex = z.infer<typeof SchedulerVertex>;

/** Tasks and scheduler of a chain (Alpine 5.3). The engine serves its modules in turn so far: figures are predictions. */
export const ScheduleForm = z.strictObject({
  pipeline_id: Id,
  strategy: z.string(),
  mode: z.string(),
  feasible: z.boolean(),
  conflicts: z.array(Constraint.extend({ classes: z.array(Id), modules: z.array(z.string()), slos: z.array(Name) })),
  workers: z.int().min(0),
  replicated: z.boolean().describe('every worker runs all tasks on its part of the flows; the tree is that of each'),
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

/** An instance that a switch could run instead of a server (E2 3.4.1 step 5). Proposed; fabrics do not take NFs over so far. */
export const Offload = z.strictObject({
  instance_id: Id,
  switch: Name,
  entries: z.int().min(0),
  frees_core_share: z.number().min(0),
  saves_bps: RateBps.describe('traffic that no longer goes to the server and back'),
});
export type Offload = z.infer<typeof Offload>;
