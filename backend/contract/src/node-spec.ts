import { z } from 'zod';
import { BoardPlace } from './boards.js';
import { Generation, Id, MacAddress, Name } from './common.js';
import { ContainerImage } from './container-image.js';
import { AcceleratedMode, CpuLimit } from './element-manager.js';
import { FlowKey, FlowRange, MatchTerm, MetadataField } from './filter.js';
import { KeepFlows } from './flow-steering.js';
import { LegacyProgram } from './legacy-program.js';
import { ResizedAt } from './nf-descriptor.js';

/**
 * Steering between servers is by MAC chaining: the destination MAC of a packet in transit to a hop is
 * `02:0e:HH:HH:MM:MM` (hop, metadata word) and the source MAC is `06:TT:TT:TT:TT:TT` (ingress time, ns modulo 2^40).
 */
export const HopId = z.int().min(1).max(0xfffe);
export type HopId = z.infer<typeof HopId>;

/** Most copies that a mirror makes of a packet, and branches that a merge has. */
export const MAX_COPIES = 15;

/** `no-op`: to a merge, which is told that a branch dropped its copy of a packet (HydraNF 6.5.1). */
export const HopDirection = z.enum(['forward', 'return', 'no-op']);
export type HopDirection = z.infer<typeof HopDirection>;

const MergeInput = z
  .int()
  .min(0)
  .max(MAX_COPIES - 1)
  .optional()
  .describe('of a merge, forward: the branch, by its position in `branches`; absent otherwise');

export const Target = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('instance'),
    instance_id: Id.describe('an instance or module on the same node'),
    input: MergeInput,
  }),
  z.strictObject({ kind: z.literal('hop'), hop: HopId }),
  z.strictObject({ kind: z.literal('exit'), exit_id: Id }),
]);
export type Target = z.infer<typeof Target>;

export const SplitTarget = z.strictObject({ range: FlowRange, to: Target });

/** Packets that leave an instance along one edge: the terms that select them, then the split over the next NF's instances. */
export const OutputSpec = z.strictObject({
  edge_id: Id,
  match: z.array(MatchTerm),
  key: FlowKey.describe('fields hashed to select a target; empty if there is only one whose flows are not tracked'),
  targets: z.array(SplitTarget).min(1),
  keep_flows: KeepFlows.optional().describe(
    'flows in progress stay at their targets when the ranges change, also where one target becomes several; absent: all follow the ranges',
  ),
});
export type OutputSpec = z.infer<typeof OutputSpec>;

const Bytestream = z
  .boolean()
  .optional()
  .describe('true: TCP streams are reassembled in front of it, for all behind it that read them. Absent: false');

export const InstanceSpec = z.strictObject({
  id: Id,
  chain_id: Id,
  node_id: Name,
  nf: Name,
  driver: z.enum(['engine', 'process', 'container', 'board']),
  board: BoardPlace.optional().describe('with the driver `board`: the slot that runs it'),
  core: z.int().min(0),
  queued: z
    .boolean()
    .optional()
    .describe('false: no queue of its own; it runs in the task that passes it packets. Absent: true'),
  bytestream: Bytestream,
  config: z.record(z.string(), z.unknown()),
  program: LegacyProgram.optional().describe(
    'with the drivers `process` and `container`: the unmodified program that it runs',
  ),
  image: ContainerImage.optional().describe('with the driver `container`: the image that it runs'),
  cpu_limit: CpuLimit.optional().describe(
    'with the driver `container`: most of a core that it may use. Absent: a whole one',
  ),
  acceleration: AcceleratedMode.optional().describe(
    'how `accelerate` and `release` switch it while it runs; `config` is what it begins with. Absent: they do not',
  ),
  metadata: z.record(z.string(), MetadataField).describe('where the NF writes each derived attribute'),
  outputs: z.array(OutputSpec),
  return_to: Target.nullable().describe('where replies go after an address-rewriting NF has restored their addresses'),
  no_op_to: Target.optional().describe(
    'in a branch of a parallel step: the merge to which it announces packets that it drops',
  ),
});
export type InstanceSpec = z.infer<typeof InstanceSpec>;

/**
 * What the data plane of a server can do besides running NFs: modules, scheduler trees and their policies. As reported by
 * `orrery-engine --abilities`.
 */
export const EngineAbility = z.enum([
  'mirror',
  'merge',
  'bytestream',
  'scheduler',
  'round-robin',
  'priority',
  'weighted-fair',
  'rate-limit',
]);
export type EngineAbility = z.infer<typeof EngineAbility>;

const MODULE = { id: Id, chain_id: Id, core: z.int().min(0) };

const Nested = z
  .boolean()
  .describe('inside a branch of another parallel step, whose mirror has given the packet its identity');

/** Begins a parallel step (HydraNF 6.5.1): sends a copy of every packet to each of `copies`. */
export const MirrorSpec = z.strictObject({
  kind: z.literal('mirror'),
  ...MODULE,
  nested: Nested,
  bytestream: Bytestream,
  copies: z
    .array(
      OutputSpec.extend({
        writes: z.boolean().describe('an NF of the branch changes the packet; other branches may share one buffer'),
      }),
    )
    .min(1)
    .max(MAX_COPIES)
    .describe('one may stand for several branches to which a switch copies it; `match` is empty'),
});
export type MirrorSpec = z.infer<typeof MirrorSpec>;

/** What the NFs of a branch may do to a packet; one that goes straight from mirror to merge is not changed. */
export const MergeBranch = z.strictObject({
  writes: z.boolean(),
  resizes_at: ResizedAt.nullable().describe('null: the length of a packet stays'),
});
export type MergeBranch = z.infer<typeof MergeBranch>;

/**
 * Ends a parallel step. With one writing branch its copy is the packet; with several the packet is `P_O xor P_A xor P_B` of
 * an unchanged copy and theirs (HydraNF 6.5.1), so that one branch must not write. Metadata words are or-ed, because each
 * field is written by one NF. If any copy is dropped or lost, so is the packet.
 */
export const MergeSpec = z.strictObject({
  kind: z.literal('merge'),
  ...MODULE,
  nested: Nested,
  mirror: Id.describe('the mirror whose copies it merges'),
  branches: z.array(MergeBranch).min(2).max(MAX_COPIES),
  outputs: z.array(OutputSpec),
  no_op_to: Target.optional().describe('of a nested merge: the outer one'),
});
export type MergeSpec = z.infer<typeof MergeSpec>;

/** Starts a task of a planned schedule: packets wait here, and then run to completion up to the next queue (Alpine 5.3). */
export const QueueSpec = z.strictObject({
  kind: z.literal('queue'),
  ...MODULE,
  outputs: z.array(OutputSpec).length(1).describe('`match` is empty'),
});
export type QueueSpec = z.infer<typeof QueueSpec>;

export const ModuleSpec = z.discriminatedUnion('kind', [MirrorSpec, MergeSpec, QueueSpec]);
export type ModuleSpec = z.infer<typeof ModuleSpec>;

const SCHEDULER_PLACE = {
  id: Id,
  parent: Id.nullable().describe('null: the root'),
  weight: z.number().positive().nullable().describe('share of the parent; only below weighted-fair'),
  level: z.int().min(0).nullable().describe('0 is served first; only below priority'),
};

/** Policies that share time among their children (Alpine 5.4.2, Fig. 5.2). */
const SHARING = [
  z.strictObject({ kind: z.literal('round-robin'), ...SCHEDULER_PLACE }),
  z.strictObject({ kind: z.literal('priority'), ...SCHEDULER_PLACE }),
  z.strictObject({
    kind: z.literal('weighted-fair'),
    ...SCHEDULER_PLACE,
    when_idle: z
      .enum(['poll', 'yield'])
      .describe('whether a task with an empty queue spends its share on polling, or yields it to the others'),
  }),
] as const;

const RATE_LIMIT = {
  kind: z.literal('rate-limit'),
  ...SCHEDULER_PLACE,
  per_second: z.number().positive().describe('limit, over all tasks below it'),
};

/** A task, or a policy. */
export const SchedulerNode = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('task'),
    ...SCHEDULER_PLACE,
    starts_at: Id.describe('a queue node, or an instance or module with its own queue'),
  }),
  ...SHARING,
  z.strictObject({
    ...RATE_LIMIT,
    resource: z
      .enum(['core-time', 'cycles', 'packets', 'bits'])
      .describe(
        'core-time: seconds of the core, whatever its clock is; agents tell engines as many cycles of their own clock',
      ),
  }),
]);
export type SchedulerNode = z.infer<typeof SchedulerNode>;

/** The same, as an engine takes it. */
export const EngineSchedulerNode = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('task'),
    ...SCHEDULER_PLACE,
    module: Id.describe('one of the tasks of the worker'),
  }),
  ...SHARING,
  z.strictObject({ ...RATE_LIMIT, resource: z.enum(['cycles', 'packets', 'bits']) }),
]);
export type EngineSchedulerNode = z.infer<typeof EngineSchedulerNode>;

/** How a core shares its time. Tasks outside the tree are served round robin alongside it. */
export const CoreScheduler = z.strictObject({
  core: z.int().min(0),
  tree: z.array(SchedulerNode).min(1).describe('every node after its parent; the first is the root'),
});
export type CoreScheduler = z.infer<typeof CoreScheduler>;

/** Everything that one node must run. Applying it is idempotent. */
export const NodeSpec = z.strictObject({
  generation: Generation,
  nic: z.strictObject({ iface: z.string().min(1).max(15), mac: MacAddress }),
  gateway_mac: MacAddress,
  instances: z.array(InstanceSpec),
  modules: z.array(ModuleSpec).optional().describe('absent: none'),
  schedulers: z.array(CoreScheduler).optional().describe('absent: every core serves its tasks round robin'),
  hops: z.array(z.strictObject({ hop: HopId, instance_id: Id, direction: HopDirection, input: MergeInput })),
  exits: z.array(z.strictObject({ exit_id: Id, chain_id: Id, direction: z.enum(['forward', 'return']) })),
});
export type NodeSpec = z.infer<typeof NodeSpec>;
