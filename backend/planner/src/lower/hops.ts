import {
  type Constraint,
  crossesServers,
  type GraphEdge,
  type InstanceGraph,
  type NodeSpec,
  nfInstances,
  type Plan,
} from '@orrery/contract';
import { type PlacedNode, placedNodes } from '../igraph/graph.js';
import { type PartOf, withParts } from '../igraph/parts.js';
import { NOTHING_KNOWN, type Recall } from '../recall.js';

const MAX_HOP = 0xfffe;
/** Maximum number of hops of one server's engine. */
const MAX_HOPS_A_SERVER = 256;

/** Hop ids by destination, see `hopKey`. */
export type HopTable = ReadonlyMap<string, number>;

type Hop = NodeSpec['hops'][number];

/** What a hop leads to: a node, in one direction; of a merge one of its branches. */
type Destination = Omit<Hop, 'hop'>;

function hopKey({ instance_id, direction, input }: Destination): string {
  return input === undefined ? `${direction} ${instance_id}` : `${direction} ${instance_id} ${input}`;
}

/** Of the hop by which a mirror sends what a switch copies. */
function mirrorKey(mirror: string): string {
  return `mirror ${mirror}`;
}

function destinationOf({ to, direction, input }: GraphEdge): Destination {
  return { instance_id: to, direction, ...(input === undefined ? {} : { input }) };
}

/** The hops of a plan. */
export function hopsOf(plan: Plan | null): HopTable {
  const table = new Map<string, number>();
  for (const mirror of plan?.graph.nodes ?? [])
    if (mirror.kind === 'mirror' && mirror.hop !== null) table.set(mirrorKey(mirror.id), mirror.hop);
  for (const { hops } of Object.values(plan?.nodes ?? {})) {
    for (const { hop, ...to } of hops) table.set(hopKey(to), hop);
  }
  return table;
}

/**
 * The hops in use, from which those of a staged split are those of the instance that it is in front of, where that is not reached over
 * the fabric any more: so no entry of a switch changes.
 */
export function withHopsOfStaged(running: HopTable, graph: InstanceGraph, destinations: readonly string[]): HopTable {
  const table = new Map(running);
  const reached = new Set(destinations);
  const instances = nfInstances(graph);
  const forward = (instance_id: string) => hopKey({ instance_id, direction: 'forward' });
  for (const split of graph.nodes) {
    if (split.kind !== 'split' || split.in_front_of === undefined || table.has(forward(split.id))) continue;
    const { chain_id, node_id, in_front_of } = split;
    const behind = instances.find(
      (it) => it.chain_id === chain_id && it.node_id === node_id && it.ordinal === in_front_of,
    );
    const hop = behind && running.get(forward(behind.id));
    if (hop !== undefined && !reached.has(forward(behind!.id))) table.set(forward(split.id), hop);
  }
  return table;
}

/** Where packets may enter a node. */
function destinationsAt(node: PlacedNode): Destination[] {
  const to = { instance_id: node.id };
  if (node.kind !== 'merge')
    return [
      { ...to, direction: 'forward' },
      { ...to, direction: 'return' },
    ];
  return [
    ...node.branches.map((_, input) => ({ ...to, direction: 'forward', input }) as const),
    { ...to, direction: 'no-op' },
  ];
}

/** The hops that lead to a node, given the edges into it. */
export function hopsTo(node: PlacedNode, entering: readonly GraphEdge[]): Hop[] {
  const hops = new Map(entering.flatMap((edge) => (edge.hop ? [[hopKey(destinationOf(edge)), edge.hop]] : [])));
  return destinationsAt(node).flatMap((to): Hop[] => {
    const hop = hops.get(hopKey(to));
    return hop === undefined ? [] : [{ hop, ...to }];
  });
}

/**
 * Nodes that packets reach over the switch: from the hosts, from other servers, or as replies; and the mirrors for which a
 * switch copies.
 */
export function hopDestinations(graph: InstanceGraph, inSwitch: ReadonlySet<string> = new Set()): string[] {
  const reached = new Set(graph.edges.filter(isOverFabric).map((edge) => hopKey(destinationOf(edge))));
  const keys = placedNodes(graph).flatMap((node) => destinationsAt(node).map(hopKey));
  return [...keys.filter((key) => reached.has(key)), ...[...inSwitch].map(mirrorKey)];
}

/** Whether the fabric carries packets along the edge. */
function isOverFabric(edge: GraphEdge): boolean {
  return edge.from_server === null || crossesServers(edge);
}

/**
 * A hop for every destination, unique across the fabric. Destinations of the plan that runs keep theirs, and no id that
 * is in use there is given to another while packets with it may be on their way. `null` when the ids run out.
 */
export function assignHops(destinations: readonly string[], running: HopTable): HopTable | null {
  const table = new Map<string, number>();
  const used = new Set(running.values());
  let next = 1;
  for (const key of destinations) {
    let hop = running.get(key);
    if (hop === undefined) {
      while (used.has(next)) next++;
      hop = next++;
    }
    if (hop > MAX_HOP) return null;
    table.set(key, hop);
  }
  return table;
}

/** Hops beyond the id space or the limit of a server's engine, as conflicts. */
export function hopConflict(
  graph: InstanceGraph,
  destinations: readonly string[],
  hops: HopTable | null,
): Constraint | null {
  if (!hops) {
    const needed = destinations.length;
    return { constraint: 'hops', needed, available: MAX_HOP, unit: 'hops', where: 'fabric' };
  }
  const used = new Map<string, number>();
  for (const node of placedNodes(graph)) {
    const own = destinationsAt(node).filter((to) => hops.has(hopKey(to))).length;
    used.set(node.server, (used.get(node.server) ?? 0) + own);
  }
  for (const [where, needed] of used) {
    if (needed > MAX_HOPS_A_SERVER)
      return { constraint: 'hops', needed, available: MAX_HOPS_A_SERVER, unit: 'hops', where };
  }
  return null;
}

/**
 * The graph with the hop of each edge along which the fabric brings packets, and of each mirror for which a switch copies.
 * Precondition: every one has a hop.
 */
export function withHops(graph: InstanceGraph, hops: HopTable, recall: Recall = NOTHING_KNOWN): InstanceGraph {
  return withParts(graph, (part): PartOf<InstanceGraph> => {
    const own = part.edges.map((edge) => (isOverFabric(edge) ? hops.get(hopKey(destinationOf(edge)))! : null));
    const copied = part.nodes.map((node) => (node.kind === 'mirror' ? (hops.get(mirrorKey(node.id)) ?? null) : null));
    return recall.of('hops', [recall.nameOf(part), own, copied], () => ({
      nodes: copied.every((hop) => hop === null)
        ? part.nodes
        : part.nodes.map((node, i) => (node.kind === 'mirror' ? { ...node, hop: copied[i]! } : node)),
      edges: part.edges.map((edge, i) => ({ ...edge, hop: own[i]! })),
    }));
  });
}
