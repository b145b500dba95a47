import { z } from 'zod';
import { LoadKind, LoadPolicy, SlotRef } from './boards.js';
import { Calibration } from './calibration.js';
import { ChainPriority, ChainProblem, PlannedChain } from './chain.js';
import { Id, Name, RateBps, TimestampMs } from './common.js';
import { FabricSpec } from './fabric-spec.js';
import { Filter } from './filter.js';
import { PlannedSplit } from './flow-steering.js';
import { InstanceGraph, SwitchInstance } from './instance-graph.js';
import { NodeSpec } from './node-spec.js';
import { ClassForecast, Constraint, Offload, ParallelForm, Quality, Reason, ScheduleForm } from './plan-analysis.js';
import { DeploymentOptions, PlanOptions } from './plan-options.js';
import { PredictionBand } from './prediction-band.js';
import { DriverChange, DriverChoice } from './switch-driver.js';

/** A node of the policy graph, the union of all chains (E2 3.4.1 step 1), after sizing (step 2). */
export const PGraphNode = z.strictObject({
  id: Id,
  chain_id: Id,
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

export const SloPrediction = z.strictObject({
  chain_id: Id,
  slo_id: Name,
  kind: z.enum(['latency', 'throughput']),
  target: z.number(),
  predicted: z.number(),
  band: PredictionBand.nullable().describe(
    'latency: what single windows of measurement are expected to show; null: throughput',
  ),
  unit: z.enum(['us', 'bps']),
  met: z.boolean(),
  attainable: z.number().describe('best value that any placement on this hardware could reach'),
  constraint: Constraint.nullable().describe('why no placement on this hardware can meet it; null if one might'),
  model: z.string().describe('how `predicted` was derived'),
});

export const PlanStep = z.strictObject({
  ordinal: z.int().min(0),
  kind: z.enum([
    'prepare-node',
    'extend-fabric',
    'change-driver',
    'steer-fabric',
    'switch-node',
    'clean-node',
    'settle-fabric',
  ]),
  subject: z.string(),
  summary: z.string(),
  interrupts: z.array(Id).describe('chains whose packets the step may lose or delay'),
});
export type PlanStep = z.infer<typeof PlanStep>;

/** What an NF must run on. By default an NF stays where it is, and a new one runs in software if it can. */
export const ImplementationChoice = z.strictObject({
  chain_id: Id,
  node_id: Name,
  on: z.enum(['software', 'container', 'board']),
  slot: SlotRef.optional().describe('with `board`; absent: the slot with the tightest fit'),
  load: LoadKind.default('partial'),
  policy: LoadPolicy.default('hold'),
});
export type ImplementationChoice = z.infer<typeof ImplementationChoice>;

const names = (most: number) => z.array(Name).max(most).optional();

/** A change of what runs: `chains` added or replaced, `remove` removed, and other drivers of switches. */
export const RequestedChange = z.strictObject({
  chains: z
    .array(
      z.strictObject({
        chain_id: Id,
        version: z.int().min(0).optional().describe('0 or absent: the draft'),
        ...DeploymentOptions.shape,
      }),
    )
    .max(64)
    .default([]),
  remove: z.array(Id).max(64).default([]),
  implementations: z.array(ImplementationChoice).max(256).default([]),
  without_slots: z.array(SlotRef).max(256).default([]).describe('faulty slots, which must not be used'),
  without_servers: names(256).describe('servers that nothing may run on; what runs there moves'),
  without_boards: names(64).describe('boards that nothing may run on'),
  move: z
    .array(z.strictObject({ instance: Id, server: Name }))
    .max(256)
    .optional()
    .describe('running instances that are to stand on these servers; those that do not run any more are ignored'),
  max_moved: z.int().min(0).max(256).optional().describe('instances that may change places; absent: any number'),
  when_short: z
    .enum(['refuse', 'leave-out'])
    .optional()
    .describe(
      'where not everything fits: `leave-out` takes down chains, those of the lowest priority first; absent: refuse',
    ),
  switch_drivers: z
    .array(DriverChoice)
    .max(64)
    .default([])
    .describe('drivers that switches of the twin are to run; deploying the plan needs the role admin then'),
  ...PlanOptions.shape,
});
export type RequestedChange = z.infer<typeof RequestedChange>;

/** Longest time that a request may give to a plan. */
export const MOST_TIME_LIMIT_S = 15;

/** Plans the running chains with a change. */
export const PlanRequest = RequestedChange.extend({
  time_limit_s: z
    .number()
    .min(1)
    .max(MOST_TIME_LIMIT_S)
    .optional()
    .describe('time that making the plan may take; 10 if absent. There is no plan after it'),
  on_top_of: Id.optional().describe('a plan to build on that is not running yet; this plan can be deployed after it'),
});
export type PlanRequest = z.infer<typeof PlanRequest>;

/** What a plan cannot keep, and what it lacks for that. */
export const NotKept = z.strictObject({
  chain_id: Id,
  slo_id: Name.nullable().describe('an objective that was met so far; null: the whole chain, which is taken down'),
  priority: ChainPriority,
  because: z.string(),
  constraint: Constraint.nullable(),
});
export type NotKept = z.infer<typeof NotKept>;

/** What a plan does not use: as requested, in maintenance, or lost. */
export const Excluded = z.strictObject({
  servers: z.array(Name),
  lost_servers: z.array(Name).describe('those whose agents or engines are away, for which nothing waits'),
  boards: z.array(Name),
});
export type Excluded = z.infer<typeof Excluded>;

/** Immutable result of planning; a dry run shows exactly this object and a deployment applies it. */
export const Plan = z.strictObject({
  id: Id,
  created_ms: TimestampMs,
  ...PlanOptions.shape,
  infrastructure_revision: z.int().min(0).describe('revision of the infrastructure that was planned for'),
  base_plan: Id.nullable().describe('the plan in effect when this one was made'),
  request: RequestedChange.describe('what was asked for'),
  calibration: Calibration.describe('what the latencies were predicted with'),
  chains: z.array(PlannedChain),
  nf_revisions: z
    .record(Name, z.string().max(64))
    .optional()
    .describe('of the descriptors of the NFs in `chains`, as planned with; absent: made by an earlier version'),
  feasible: z.boolean(),
  problems: z.array(ChainProblem.extend({ chain_id: Id })),
  conflicts: z.array(Constraint).describe('why the plan is infeasible; empty if it is feasible'),
  pgraph: z.strictObject({ nodes: z.array(PGraphNode), edges: z.array(PGraphEdge) }),
  graph: InstanceGraph,
  cost: z.strictObject({
    cross_traffic_bps: RateBps,
    lower_bound_bps: RateBps.describe('no placement can have less cross traffic'),
    total_traffic_bps: RateBps,
    cores_used: z.number(),
    cores_available: z.number(),
  }),
  reasons: z.array(Reason),
  quality: z.array(Quality),
  classes: z.array(ClassForecast),
  parallel: z.array(ParallelForm),
  schedules: z.array(ScheduleForm),
  splits: z.array(PlannedSplit).default([]).describe('of each NF that gets its flows by ranges'),
  offloads: z.array(Offload).describe('proposals for chains that are not asked to use switches'),
  not_kept: z.array(NotKept).optional().describe('with `when_short` of leave-out; absent: everything is kept'),
  excluded: Excluded.optional().describe('absent: nothing'),
  guarded: z
    .array(PlannedChain)
    .optional()
    .describe('chains that fail closed and were left out: their packets are dropped; absent: none'),
  on_switches: z.array(SwitchInstance).optional().describe('NFs that switches run; absent: none'),
  slos: z.array(SloPrediction),
  nodes: z.record(Name, NodeSpec).describe('desired state by server'),
  fabric: FabricSpec,
  tables: z
    .array(
      z.strictObject({
        switch: Name,
        entries: z.int().min(0).describe('in the switch once the plan is applied'),
        most_entries: z.int().min(0).describe('highest number while the plan is being applied'),
        available: z.int().min(0),
        entries_before: z
          .int()
          .min(0)
          .optional()
          .describe('in the switch before; told where the driver of a switch changes'),
      }),
    )
    .default([])
    .describe('table entries of each switch, as installed'),
  drivers: z.array(DriverChange).optional().describe('drivers of switches that the plan changes; absent: none'),
  migrations: z
    .array(z.strictObject({ from: Id, from_server: Name, to: Id, to_server: Name }))
    .default([])
    .describe('instances whose flow state is migrated to their replacement'),
  abandoned: z
    .array(Id)
    .default([])
    .describe(
      'instances in excluded slots, or in failed containers on servers that no longer offer any; removed first, without waiting for them',
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

/** Requests bounds on the figures of a plan, as tight as the time limit allows. */
export const CertificateRequest = z.strictObject({ time_limit_s: z.number().min(1).max(30).default(10) });
export type CertificateRequest = z.infer<typeof CertificateRequest>;

export const PlanCertificate = z.strictObject({
  plan_id: Id,
  quality: z.array(Quality).describe('same subjects and order as in the plan'),
  elapsed_ms: z.number().min(0),
});
export type PlanCertificate = z.infer<typeof PlanCertificate>;
