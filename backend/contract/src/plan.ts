import { z } from 'zod';
import { BoardPlace, LoadKind, LoadPolicy, SlotRef } from './boards.js';
import { Id, Name, RateBps, TimestampMs } from './common.js';
import { Filter, FlowKey, FlowRange } from './filter.js';
import { FabricSpec, HopId, NodeSpec } from './node-spec.js';
import { PipelineProblem, PlannedPipeline } from './pipeline.js';
import { ClassForecast, Constraint, Offload, ParallelForm, Quality, Reason, ScheduleForm } from './plan-analysis.js';
import { PlanOptions } from './plan-options.js';

/** A node of the policy graph: the union of all pipelines (E2 3.4.1 step 1), sized (step 2). */
export const PGraphNode = z.strictObject({
  id: Id,
  pipeline_id: Id,
  node_id: Name,
  nf: Name,
  load_bps: RateBps,
  load_pps: z.number().min(0),
  cores_needed: z.number().min(0),
  instances: z.int().min(1),
});
export const PGraphEdge = z.strictObject({
  id: Id,
  from: Id.nullable().describe('null: the ingress'),
  to: Id.nullable().describe('null: the egress'),
  filter: Filter,
  rate_bps: RateBps,
});

export const Instance = z.strictObject({
  id: Id,
  pgraph_node: Id,
  pipeline_id: Id,
  node_id: Name,
  nf: Name,
  ordinal: z.int().min(0),
  driver: z.enum(['engine', 'process', 'container', 'board']),
  board: BoardPlace.optional().describe('with the driver `board`: the slot that runs it'),
  server: Name,
  core: z.int().min(0),
  load_bps: RateBps,
  core_share: z.number().min(0).describe('part of one core that the estimate asks for'),
});
export type Instance = z.infer<typeof Instance>;

export const IGraphEdge = z.strictObject({
  id: Id,
  pgraph_edge: Id,
  from: Id.nullable(),
  to: Id.nullable(),
  key: FlowKey,
  range: FlowRange,
  rate_bps: RateBps,
  crosses_switch: z.boolean(),
  hop: HopId.nullable(),
});

export const SloPrediction = z.strictObject({
  pipeline_id: Id,
  slo_id: Name,
  kind: z.enum(['latency', 'throughput']),
  target: z.number(),
  predicted: z.number(),
  unit: z.enum(['us', 'bps']),
  met: z.boolean(),
  attainable: z.number().describe('what the best placement on this hardware could reach'),
  constraint: Constraint.nullable().describe('why no placement on this hardware can meet it; null when one may'),
  model: z.string().describe('how the figure was derived'),
});

export const PlanStep = z.strictObject({
  ordinal: z.int().min(0),
  kind: z.enum(['prepare-node', 'steer-fabric', 'switch-node', 'clean-node', 'settle-fabric']),
  subject: z.string(),
  summary: z.string(),
  interrupts: z.array(Id).describe('pipelines whose packets may be lost or delayed by the step'),
});
export type PlanStep = z.infer<typeof PlanStep>;

/** Immutable result of planning; a dry run shows exactly this object and a deployment applies it. */
export const Plan = z.strictObject({
  id: Id,
  created_ms: TimestampMs,
  ...PlanOptions.shape,
  infrastructure_revision: z.int().min(0).describe('of the infrastructure for which it was made'),
  base_plan: Id.nullable().describe('the plan that ran when this one was made'),
  pipelines: z.array(PlannedPipeline),
  feasible: z.boolean(),
  problems: z.array(PipelineProblem.extend({ pipeline_id: Id })),
  conflicts: z.array(Constraint).describe('what could not be met, when not feasible'),
  pgraph: z.strictObject({ nodes: z.array(PGraphNode), edges: z.array(PGraphEdge) }),
  instances: z.array(Instance),
  edges: z.array(IGraphEdge),
  cost: z.strictObject({
    cross_traffic_bps: RateBps,
    lower_bound_bps: RateBps.describe('no placement can cross less'),
    total_traffic_bps: RateBps,
    cores_used: z.number(),
    cores_available: z.number(),
  }),
  reasons: z.array(Reason),
  quality: z.array(Quality),
  classes: z.array(ClassForecast),
  parallel: z.array(ParallelForm),
  schedules: z.array(ScheduleForm),
  offloads: z.array(Offload),
  slos: z.array(SloPrediction),
  nodes: z.record(Name, NodeSpec).describe('desired state by server'),
  fabric: FabricSpec,
  migrations: z
    .array(z.strictObject({ from: Id, from_server: Name, to: Id, to_server: Name }))
    .default([])
    .describe('instances whose flow state goes over to the one that takes their place'),
  abandoned: z
    .array(Id)
    .default([])
    .describe(
      'instances in slots that may not be used, or in containers that failed where none are offered: nothing waits for them, and they go first',
    ),
  steps: z.array(PlanStep),
  diff: z.strictObject({
    added: z.array(Id),
    removed: z.array(Id),
    moved: z.array(Id),
    reconfigured: z.array(Id),
    kept: z.array(Id),
  }),
});
export type Plan = z.infer<typeof Plan>;

/** On what an NF must run. Without one the planner decides: it stays where it is; a new one is software unless it cannot. */
export const ImplementationChoice = z.strictObject({
  pipeline_id: Id,
  node_id: Name,
  on: z.enum(['software', 'container', 'board']),
  slot: SlotRef.optional().describe('with `board`; absent: the slot that fits most closely'),
  load: LoadKind.default('partial'),
  policy: LoadPolicy.default('hold'),
});
export type ImplementationChoice = z.infer<typeof ImplementationChoice>;

/** Plans the pipelines that run now, with `pipelines` added or replaced and `remove` taken away. */
export const PlanRequest = z.strictObject({
  pipelines: z
    .array(z.strictObject({ pipeline_id: Id, version: z.int().min(0).optional().describe('0 or absent: the draft') }))
    .max(64)
    .default([]),
  remove: z.array(Id).max(64).default([]),
  on_top_of: Id.optional().describe('a plan to build on that does not run yet: a look ahead, to be deployed after it'),
  implementations: z.array(ImplementationChoice).max(256).default([]),
  without_slots: z.array(SlotRef).max(256).default([]).describe('slots that may not be used: they do not work'),
  ...PlanOptions.shape,
});
export type PlanRequest = z.infer<typeof PlanRequest>;

/** Asks for proofs: bounds of the plan's figures as tight as the time allows. */
export const CertificateRequest = z.strictObject({ time_limit_s: z.number().min(1).max(30).default(10) });
export type CertificateRequest = z.infer<typeof CertificateRequest>;

export const PlanCertificate = z.strictObject({
  plan_id: Id,
  quality: z.array(Quality).describe('of the same answers in the same order as in the plan'),
  elapsed_ms: z.number().min(0),
});
export type PlanCertificate = z.infer<typeof PlanCertificate>;
