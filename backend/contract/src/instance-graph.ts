import { z } from 'zod';
import { BoardPlace } from './boards.js';
import { Id, Name, Place, RateBps } from './common.js';
import { CpuLimit } from './element-manager.js';
import { Filter, FlowKey, FlowRange } from './filter.js';
import { HopDirection, HopId, MAX_COPIES, MergeBranch } from './node-spec.js';

/** Where a node of the graph runs, and its estimated load. One in a slot at a switch takes nothing of the core. */
const PLACED = {
  server: Name,
  core: z.int().min(0),
  load_bps: RateBps,
  core_share: z.number().min(0).describe('estimated share of one core'),
};

/** An instance of an NF (E2 3.4.1 step 3). */
export const Instance = z.strictObject({
  kind: z.literal('nf'),
  id: Id,
  chain_id: Id,
  pgraph_node: Id,
  node_id: Name,
  nf: Name,
  ordinal: z.int().min(0),
  driver: z.enum(['engine', 'process', 'container', 'board']),
  board: BoardPlace.optional().describe('with the driver `board`: the slot that runs it'),
  reads_streams: z.boolean().optional().describe('true: it reads reassembled TCP streams. Absent: false'),
  merge: Id.optional().describe('in a branch of a parallel step: the merge at its end'),
  cpu_limit: CpuLimit.optional().describe('most of a core that it may use, which plans keep for it. Absent: no limit'),
  ...PLACED,
});
export type Instance = z.infer<typeof Instance>;

const WITHIN = Id.nullable().describe('the merge of the parallel step in a branch of which this one lies; null: none');

/** Where a parallel step begins: every edge out of it gets a copy of each packet (HydraNF 6.5.1). */
export const MirrorNode = z.strictObject({
  kind: z.literal('mirror'),
  id: Id,
  chain_id: Id,
  within: WITHIN,
  hop: HopId.nullable().describe(
    'hop by which it sends one packet that the switch copies to the branches on other servers; null: it makes every copy',
  ),
  ...PLACED,
});
export type MirrorNode = z.infer<typeof MirrorNode>;

/** Where a parallel step ends: merges the copies into one packet, or none if a branch dropped its copy. */
export const MergeNode = z.strictObject({
  kind: z.literal('merge'),
  id: Id,
  chain_id: Id,
  mirror: Id.describe('the mirror whose copies it merges'),
  within: WITHIN,
  branches: z.array(MergeBranch).min(2).max(MAX_COPIES),
  ...PLACED,
});
export type MergeNode = z.infer<typeof MergeNode>;

/** Where an engine shares out the flows of an NF, because the switches cannot or do not yet (E2 3.4.4). */
export const SplitNode = z.strictObject({
  kind: z.literal('split'),
  id: Id,
  chain_id: Id,
  node_id: Name.describe('the NF whose flows they are'),
  tracks: z.boolean().describe('flows in progress stay at their instances when the ranges change'),
  in_front_of: z
    .int()
    .min(0)
    .optional()
    .describe('of a staged split: ordinal of the instance on whose server it is. Absent: not staged'),
  ...PLACED,
});
export type SplitNode = z.infer<typeof SplitNode>;

/** Where a task of the schedule begins: packets wait until the core's scheduler picks the task (Alpine 5.3). */
export const QueueNode = z.strictObject({
  kind: z.literal('queue'),
  id: Id,
  chain_id: Id,
  tasks: z
    .array(z.string())
    .min(1)
    .describe('tasks of the schedule that it starts; several if they are served equally'),
  ...PLACED,
});
export type QueueNode = z.infer<typeof QueueNode>;

/** Where packets leave a chain, on whichever server they reach the exit. */
export const ExitNode = z.strictObject({
  kind: z.literal('exit'),
  id: Id,
  chain_id: Id,
  direction: z.enum(['forward', 'return']),
});
export type ExitNode = z.infer<typeof ExitNode>;

export const GraphNode = z.discriminatedUnion('kind', [
  Instance,
  MirrorNode,
  MergeNode,
  SplitNode,
  QueueNode,
  ExitNode,
]);
export type GraphNode = z.infer<typeof GraphNode>;

const BranchIndex = z
  .int()
  .min(0)
  .max(MAX_COPIES - 1);

export const GraphEdge = z.strictObject({
  id: Id,
  chain_id: Id,
  pgraph_edge: Id.nullable().describe(
    'edge of the policy graph; inside a parallel step, an edge that the step replaces; null: replies',
  ),
  direction: HopDirection.describe(
    '`return`: replies through an NF that rewrites addresses; `no-op`: from an NF or a merge in a branch to the merge at its end',
  ),
  copy: BranchIndex.optional().describe('out of a mirror: the branch that gets this copy'),
  input: BranchIndex.optional().describe('into a merge, forward: the branch whose copies arrive'),
  from: Id.nullable().describe('null: the hosts'),
  to: Id,
  from_server: Place.nullable().describe('null: the hosts'),
  to_server: Place,
  filter: Filter.describe('selects the packets that take the edge'),
  key: FlowKey.describe('fields whose hash selects one of several parallel edges; empty: only one edge'),
  range: FlowRange.describe('of the hash'),
  rate_bps: RateBps,
  hop: HopId.nullable().describe(
    'hop by which the fabric carries packets to `to_server`; null: they do not cross the fabric',
  ),
});
export type GraphEdge = z.infer<typeof GraphEdge>;

/** What runs where, and the traffic between; placement, schedule, predictions and reasons of a plan refer to it. */
export const InstanceGraph = z.strictObject({ nodes: z.array(GraphNode), edges: z.array(GraphEdge) });
export type InstanceGraph = z.infer<typeof InstanceGraph>;

/** An NF that a switch runs for the packets that enter there (E2 3.4.1 step 5). It is on no edge: edges lead past it. */
export const SwitchInstance = z.strictObject({
  id: Id,
  chain_id: Id,
  pgraph_node: Id,
  node_id: Name,
  nf: Name,
  driver: z.literal('switch'),
  switch: Name,
  entries: z.int().min(0).describe('table entries of its own'),
  load_bps: RateBps.describe('of all switches that run it'),
  frees_core_share: z.number().min(0).describe('what it would take on servers'),
  saves_bps: RateBps.describe(
    'traffic planned for it that goes to no server and back for it; less where what it lets through goes to one all the same',
  ),
});
export type SwitchInstance = z.infer<typeof SwitchInstance>;

/** The NF instances of a graph, on servers; empty without a graph. */
export function nfInstances(graph: Pick<InstanceGraph, 'nodes'> | undefined): Instance[] {
  return graph?.nodes.filter((node) => node.kind === 'nf') ?? [];
}

/** Whether packets on the edge go from one server to another, or to or from a slot at a switch. */
export function crossesServers({ from_server, to_server }: Pick<GraphEdge, 'from_server' | 'to_server'>): boolean {
  return from_server !== null && from_server !== to_server;
}
