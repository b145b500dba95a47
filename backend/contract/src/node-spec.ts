import { z } from 'zod';
import { BoardPlace } from './boards.js';
import { Generation, Id, MacAddress, Name } from './common.js';
import { FlowKey, FlowRange, MatchTerm, MetadataField } from './filter.js';

/**
 * Steering between servers is by MAC chaining: the destination MAC of a packet in transit to a hop is
 * `02:0e:HH:HH:MM:MM` (hop, metadata word) and the source MAC is `06:TT:TT:TT:TT:TT` (ingress time, ns modulo 2^40).
 */
export const HopId = z.int().min(1).max(0xfffe);
export type HopId = z.infer<typeof HopId>;

export const Target = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('instance'), instance_id: Id.describe('an instance or module on the same node') }),
  z.strictObject({ kind: z.literal('hop'), hop: HopId }),
  z.strictObject({ kind: z.literal('exit'), exit_id: Id }),
]);
export type Target = z.infer<typeof Target>;

export const SplitTarget = z.strictObject({ range: FlowRange, to: Target });

/** Packets that leave an instance along one edge: the terms that select them, then the split over the next NF's instances. */
export const OutputSpec = z.strictObject({
  edge_id: Id,
  match: z.array(MatchTerm),
  key: FlowKey.describe('fields hashed to select a target; empty if there is only one'),
  targets: z.array(SplitTarget).min(1),
});
export type OutputSpec = z.infer<typeof OutputSpec>;

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
  config: z.record(z.string(), z.unknown()),
  metadata: z.record(z.string(), MetadataField).describe('where the NF writes each derived attribute'),
  outputs: z.array(OutputSpec),
  return_to: Target.nullable().describe('where replies go after an address-rewriting NF has restored their addresses'),
});
export type InstanceSpec = z.infer<typeof InstanceSpec>;

/**
 * What the data plane of a server can do besides running NFs: modules, scheduler trees and their policies. As reported by
 * `orrery-engine --abilities`.
 */
export const EngineAbility = z.enum([
  'mirror',
  'merge',
  'scheduler',
  'round-robin',
  'priority',
  'weighted-fair',
  'rate-limit',
]);
export type EngineAbility = z.infer<typeof EngineAbility>;

const MODULE = { id: Id, chain_id: Id, core: z.int().min(0) };

/** Begins a parallel step (HydraNF 6.5.1): sends one identical copy of every packet to each of `copies`. */
export const MirrorSpec = z.strictObject({
  kind: z.literal('mirror'),
  ...MODULE,
  copies: z.array(OutputSpec).min(2).describe('`match` is empty'),
});
export type MirrorSpec = z.infer<typeof MirrorSpec>;

/**
 * Ends a parallel step: the xor of all copies of a packet, fields and metadata word alike, is the packet. For an even
 * number of branches the mirror also sends one copy straight to the merge, which makes `arrivals` odd. If any copy is
 * dropped, so is the packet.
 */
export const MergeSpec = z.strictObject({
  kind: z.literal('merge'),
  ...MODULE,
  mirror: Id.describe('the mirror whose copies it merges'),
  arrivals: z.int().min(3).describe('copies of each packet'),
  outputs: z.array(OutputSpec),
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

/** A task, or a policy that shares time among its children (Alpine 5.4.2, Fig. 5.2). */
export const SchedulerNode = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('task'),
    ...SCHEDULER_PLACE,
    starts_at: Id.describe('a queue node, or an instance or module with its own queue'),
  }),
  z.strictObject({ kind: z.literal('round-robin'), ...SCHEDULER_PLACE }),
  z.strictObject({ kind: z.literal('priority'), ...SCHEDULER_PLACE }),
  z.strictObject({
    kind: z.literal('weighted-fair'),
    ...SCHEDULER_PLACE,
    when_idle: z
      .enum(['poll', 'yield'])
      .describe('whether a task with an empty queue spends its share on polling, or yields it to the others'),
  }),
  z.strictObject({
    kind: z.literal('rate-limit'),
    ...SCHEDULER_PLACE,
    cycles_per_second: z.number().positive().describe('limit, over all tasks below it'),
  }),
]);
export type SchedulerNode = z.infer<typeof SchedulerNode>;

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
  hops: z.array(z.strictObject({ hop: HopId, instance_id: Id, direction: z.enum(['forward', 'return']) })),
  exits: z.array(z.strictObject({ exit_id: Id, chain_id: Id, direction: z.enum(['forward', 'return']) })),
});
export type NodeSpec = z.infer<typeof NodeSpec>;
