import type { Constraint, Plan } from '@orrery/contract';
import type { InstanceEdge } from '../igraph/split.js';

const MAX_HOP = 0xfffe;
/** Hops that one server's engine tells apart. */
const MAX_HOPS_A_SERVER = 256;

export type HopDirection = 'forward' | 'return';

/** Hop ids by `<direction> <instance>`. */
export type HopTable = ReadonlyMap<string, number>;

export function hopKey(instanceId: string, direction: HopDirection): string {
  return `${direction} ${instanceId}`;
}

/** The hops of a plan. */
export function hopsOf(plan: Plan | null): HopTable {
  const table = new Map<string, number>();
  for (const { hops } of Object.values(plan?.nodes ?? {})) {
    for (const { hop, instance_id, direction } of hops) table.set(hopKey(instance_id, direction), hop);
  }
  return table;
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

/** What of the hops does not fit into their ids, or into one server's engine. */
export function hopConflict(
  instances: Plan['instances'],
  destinations: readonly string[],
  hops: HopTable | null,
): Constraint | null {
  if (!hops) {
    const needed = destinations.length;
    return { constraint: 'hops', needed, available: MAX_HOP, unit: 'hops', where: 'fabric' };
  }
  const used = new Map<string, number>();
  for (const { id, server } of instances) {
    for (const direction of ['forward', 'return'] as const) {
      if (hops.has(hopKey(id, direction))) used.set(server, (used.get(server) ?? 0) + 1);
    }
  }
  for (const [where, needed] of used) {
    if (needed > MAX_HOPS_A_SERVER)
      return { constraint: 'hops', needed, available: MAX_HOPS_A_SERVER, unit: 'hops', where };
  }
  return null;
}

/** The graph's edges with whether each goes over the switch between two servers. */
export function crossingEdges(edges: readonly InstanceEdge[], instances: Plan['instances']): Plan['edges'] {
  const server = new Map(instances.map((instance) => [instance.id, instance.server]));
  return edges.map((edge) => {
    const crosses_switch = edge.from !== null && edge.to !== null && server.get(edge.from) !== server.get(edge.to);
    return { ...edge, crosses_switch, hop: null };
  });
}

/** Edges with the hop by which each is reached over the switch, if it is. Precondition: every one has a hop. */
export function withHops(edges: Plan['edges'], hops: HopTable): Plan['edges'] {
  return edges.map((edge) => {
    const { from, to, crosses_switch } = edge;
    return { ...edge, hop: to !== null && (crosses_switch || from === null) ? hops.get(hopKey(to, 'forward'))! : null };
  });
}
