import { z } from 'zod';
import { BoardPlace } from './boards.js';
import { Generation, Id, MacAddress, Name } from './common.js';
import { FlowKey, FlowRange, MatchTerm, MetadataField } from './filter.js';

/**
 * Steering between servers is by MAC chaining: the destination MAC of a packet on its way to a hop is
 * `02:0e:HH:HH:MM:MM` (hop, metadata word) and the source MAC is `06:TT:TT:TT:TT:TT` (ingress time, ns modulo 2^40).
 */
export const HopId = z.int().min(1).max(0xfffe);
export type HopId = z.infer<typeof HopId>;

export const Target = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('instance'), instance_id: Id }),
  z.strictObject({ kind: z.literal('hop'), hop: HopId }),
  z.strictObject({ kind: z.literal('exit'), exit_id: Id }),
]);
export type Target = z.infer<typeof Target>;

export const SplitTarget = z.strictObject({ range: FlowRange, to: Target });

/** What leaves an instance along one edge: the terms that select it, then the split over the next NF's instances. */
export const OutputSpec = z.strictObject({
  edge_id: Id,
  match: z.array(MatchTerm),
  key: FlowKey.describe('fields hashed to choose among the targets; empty when there is one'),
  targets: z.array(SplitTarget).min(1),
});
export type OutputSpec = z.infer<typeof OutputSpec>;

export const InstanceSpec = z.strictObject({
  id: Id,
  pipeline_id: Id,
  node_id: Name,
  nf: Name,
  driver: z.enum(['engine', 'process', 'container', 'board']),
  board: BoardPlace.optional().describe('with the driver `board`: the slot that runs it'),
  core: z.int().min(0),
  config: z.record(z.string(), z.unknown()),
  metadata: z.record(z.string(), MetadataField).describe('where the NF writes each attribute it derives'),
  outputs: z.array(OutputSpec),
  return_to: Target.nullable().describe('where replies go after an address-rewriting NF restored them'),
});
export type InstanceSpec = z.infer<typeof InstanceSpec>;

/** Everything one node must run. The agent makes it so, whoever sent it and however often. */
export const NodeSpec = z.strictObject({
  generation: Generation,
  nic: z.strictObject({ iface: z.string().min(1).max(15), mac: MacAddress }),
  gateway_mac: MacAddress,
  instances: z.array(InstanceSpec),
  hops: z.array(z.strictObject({ hop: HopId, instance_id: Id, direction: z.enum(['forward', 'return']) })),
  exits: z.array(z.strictObject({ exit_id: Id, pipeline_id: Id, direction: z.enum(['forward', 'return']) })),
});
export type NodeSpec = z.infer<typeof NodeSpec>;

/** First hop of a class at the switch. Several targets: the switch hashes `key` over them by the width of their ranges. */
export const FabricRule = z.strictObject({
  id: Id,
  pipeline_id: Id.nullable(),
  kind: z.enum(['classify', 'hop', 'return']),
  priority: z.int().min(1).max(60000),
  from_hosts: z.array(Name).describe('hosts at whose port the rule applies; empty: everywhere'),
  match: z.array(MatchTerm),
  hop: HopId.nullable().describe('kind `hop`: the tag that is matched'),
  key: FlowKey,
  targets: z.array(z.strictObject({ range: FlowRange, hop: HopId, server: Name })).min(1),
});
export type FabricRule = z.infer<typeof FabricRule>;

export const FabricSpec = z.strictObject({ generation: Generation, rules: z.array(FabricRule) });
export type FabricSpec = z.infer<typeof FabricSpec>;
