import { crossesServers, type InstanceGraph } from '@orrery/contract';
import { placedNodes } from '../igraph/graph.js';

/** Traffic between the nodes of a placed graph, and the part of it between servers. A queue adds nothing of its own. */
export function trafficOf(graph: Pick<InstanceGraph, 'nodes' | 'edges'>): { total_bps: number; cross_bps: number } {
  const nodes = placedNodes(graph);
  const inside = new Set(nodes.map(({ id }) => id));
  const queues = new Set(nodes.flatMap(({ id, kind }) => (kind === 'queue' ? [id] : [])));
  const between = graph.edges.filter(({ from, to }) => from !== null && !queues.has(from) && inside.has(to));
  const sum = (edges: typeof between) => edges.reduce((total, { rate_bps }) => total + rate_bps, 0);
  return { total_bps: sum(between), cross_bps: sum(between.filter(crossesServers)) };
}
