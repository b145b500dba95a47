import {
  type ExitNode,
  type GraphEdge,
  type Instance,
  type InstanceGraph,
  isAtSwitch,
  type MergeNode,
  type MirrorNode,
  type SplitNode,
  slotPlace,
} from '@orrery/contract';
import { grouped } from '../grouped.js';

/** Demand of a node on its core. */
interface Work {
  readonly load_pps: number;
  readonly cycles_per_second: number;
  readonly memory_bytes: number;
}

type Unplaced<Node> = Omit<Node, 'server' | 'core' | 'core_share'> & Work;

/** A node that needs a core. */
export type WorkNode = Unplaced<Instance> | Unplaced<MirrorNode> | Unplaced<MergeNode> | Unplaced<SplitNode>;

export type UnplacedEdge = Omit<GraphEdge, 'from_server' | 'to_server' | 'hop'>;

/** The instance graph before its nodes have places. */
export interface UnplacedGraph {
  readonly nodes: readonly (WorkNode | ExitNode)[];
  readonly edges: readonly UnplacedEdge[];
}

export interface PlaceOnCore {
  readonly server: string;
  readonly core: number;
  /** Share of the core that the node needs. */
  readonly core_share: number;
}

export type PlacedNode = Exclude<InstanceGraph['nodes'][number], ExitNode>;

/** The nodes that need a core, in the order in which placement counts them: all but those in slots at switches. */
export function workNodes({ nodes }: UnplacedGraph): WorkNode[] {
  return nodes.filter((node): node is WorkNode => node.kind !== 'exit' && (node.kind !== 'nf' || !isAtSwitch(node)));
}

/** The nodes that process packets. */
export function placedNodes({ nodes }: Pick<InstanceGraph, 'nodes'>): PlacedNode[] {
  return nodes.filter((node) => node.kind !== 'exit');
}

/** The NF instances of a graph that has no places yet. */
export function unplacedInstances({ nodes }: UnplacedGraph): Unplaced<Instance>[] {
  return nodes.filter((node) => node.kind === 'nf');
}

/**
 * The graph with its places; `places` by the order of `workNodes`. A packet leaves on the server that it reached.
 * `drivenBy`: the server of each board. An instance in a slot at a switch is driven from there, and its packets go to and
 * come from the slot.
 */
export function placeGraph(
  graph: UnplacedGraph,
  places: readonly PlaceOnCore[],
  drivenBy: ReadonlyMap<string, string> = new Map(),
): InstanceGraph {
  const place = new Map(workNodes(graph).map(({ id }, item) => [id, places[item]!]));
  const packetsAt = new Map([...place].map(([id, { server }]) => [id, server]));
  for (const node of unplacedInstances(graph)) {
    if (!isAtSwitch(node)) continue;
    place.set(node.id, { server: drivenBy.get(node.board!.board)!, core: 0, core_share: 0 });
    packetsAt.set(node.id, slotPlace(node.board!));
  }
  const nodes = graph.nodes.map((node): InstanceGraph['nodes'][number] => {
    if (node.kind === 'exit') return node;
    const { load_pps: _pps, cycles_per_second: _cycles, memory_bytes: _bytes, ...named } = node;
    return { ...named, ...place.get(node.id)! };
  });
  const edges = graph.edges.map((edge): GraphEdge => {
    const from_server = edge.from === null ? null : packetsAt.get(edge.from)!;
    return { ...edge, from_server, to_server: packetsAt.get(edge.to) ?? from_server!, hop: null };
  });
  return { nodes, edges };
}

/** What a node is an instance of: all instances of an NF count as one. */
export function formNodeOf(node: InstanceGraph['nodes'][number]): string {
  return node.kind === 'nf' ? node.pgraph_node : node.id;
}

/** Node ids in topological order. Precondition: no cycle. */
export function inOrder(
  ids: readonly string[],
  edges: readonly { readonly from: string | null; readonly to: string | null }[],
): string[] {
  const leaving = grouped(edges, ({ from }) => from ?? '');
  const open = new Map(ids.map((id) => [id, 0]));
  for (const { from, to } of edges) if (from !== null && to !== null && open.has(to)) open.set(to, open.get(to)! + 1);
  const order = ids.filter((id) => open.get(id) === 0);
  for (const id of order) {
    for (const { to } of leaving.get(id) ?? []) {
      if (to === null || !open.has(to)) continue;
      open.set(to, open.get(to)! - 1);
      if (open.get(to) === 0) order.push(to);
    }
  }
  return order;
}
