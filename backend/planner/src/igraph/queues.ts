import type { GraphEdge, InstanceGraph, QueueNode } from '@orrery/contract';
import { grouped } from '../grouped.js';
import { keepingParts } from './parts.js';

/** A queue with its edge of the policy graph. */
export interface QueueOnEdge {
  readonly pgraph_edge: string;
  readonly node: QueueNode;
}

/** The placed graph with queues on its forward edges; several on one edge in the order given. */
export function withQueues(graph: InstanceGraph, queues: readonly QueueOnEdge[]): InstanceGraph {
  if (queues.length === 0) return graph;
  const { nodes, edges } = graph;
  const onEdge = grouped(queues, ({ pgraph_edge }) => pgraph_edge);
  const queued = {
    nodes: [...nodes, ...queues.map(({ node }) => node)],
    edges: edges.flatMap((edge) => {
      const along = edge.direction === 'forward' ? (onEdge.get(edge.pgraph_edge ?? '') ?? []) : [];
      return along.length === 0
        ? [edge]
        : piecesOf(
            edge,
            along.map(({ node }) => node),
          );
    }),
  };
  return keepingParts(queued, graph, new Set(queues.map(({ node }) => node.chain_id)));
}

/** The edge up to the first queue, which selects and carries packets as before, and what leads on from each. */
function piecesOf(edge: GraphEdge, along: readonly QueueNode[]): GraphEdge[] {
  const first = along[0]!;
  return [
    { ...edge, to: first.id, to_server: first.server },
    ...along.map(
      ({ id, server }, i): GraphEdge => ({
        ...edge,
        id: `${edge.id}.queue-${i}`,
        from: id,
        to: along[i + 1]?.id ?? edge.to,
        from_server: server,
        to_server: server,
        filter: [],
      }),
    ),
  ];
}
