import { type Constraint, crossesServers, type GraphEdge, type InstanceGraph, type Plan } from '@orrery/contract';
import { placedNodes } from '../igraph/graph.js';
import { withEdges } from '../igraph/parts.js';
import { NOTHING_KNOWN, type Recall } from '../recall.js';

const MAX_HOP = 0xfffe;
/** Maximum number of hops of one server's engine. */
const MAX_HOPS_A_SERVER = 256;

export const DIRECTIONS = ['forward', 'return'] as const;
type HopDirection = (typeof DIRECTIONS)[number];

/** Hop ids by `<direction> <node>`. */
export type HopTable = ReadonlyMap<string, number>;

export function hopKey(nodeId: string, direction: HopDirection): string {
  return `${direction} ${nodeId}`;
}

/** The hops of a plan. */
export function hopsOf(plan: Plan | null): HopTable {
  const table = new Map<string, number>();
  for (const { hops } of Object.values(plan?.nodes ?? {})) {
    for (const { hop, instance_id, direction } of hops) table.set(hopKey(instance_id, direction), hop);
  }
  return table;
}

/** Nodes that packets reach over the switch: from the hosts, from other servers, or as replies. */
export function hopDestinations(graph: InstanceGraph): string[] {
  const reached = new Set(graph.edges.filter(isOverFabric).map(({ to, direction }) => hopKey(to, direction)));
  const keys = placedNodes(graph).flatMap(({ id }) => DIRECTIONS.map((direction) => hopKey(id, direction)));
  return keys.filter((key) => reached.has(key));
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
  for (const { id, server } of placedNodes(graph)) {
    for (const direction of DIRECTIONS) {
      if (hops.has(hopKey(id, direction))) used.set(server, (used.get(server) ?? 0) + 1);
    }
  }
  for (const [where, needed] of used) {
    if (needed > MAX_HOPS_A_SERVER)
      return { constraint: 'hops', needed, available: MAX_HOPS_A_SERVER, unit: 'hops', where };
  }
  return null;
}

/** The graph with the hop of each edge along which the fabric brings packets. Precondition: every one has a hop. */
export function withHops(graph: InstanceGraph, hops: HopTable, recall: Recall = NOTHING_KNOWN): InstanceGraph {
  return withEdges(graph, (part) => {
    const own = part.edges.map((edge) => (isOverFabric(edge) ? hops.get(hopKey(edge.to, edge.direction))! : null));
    return recall.of('hops', [recall.nameOf(part), own], () => ({
      nodes: part.nodes,
      edges: part.edges.map((edge, i) => ({ ...edge, hop: own[i]! })),
    }));
  });
}
