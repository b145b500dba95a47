import type { ChainDefinition, ChainEdge, ChainNode } from '@orrery/contract';

/** The part of a definition that is a graph: nodes by first use of their id, edges whose two ends exist and differ. */
export interface ChainGraph {
  readonly nodes: ReadonlyMap<string, ChainNode>;
  readonly edges: readonly ChainEdge[];
  /** In the order of the document, which is the order in which a classifier tries them. */
  readonly outgoing: ReadonlyMap<string, readonly ChainEdge[]>;
  readonly incoming: ReadonlyMap<string, readonly ChainEdge[]>;
}

export function graphOf(definition: ChainDefinition): ChainGraph {
  const nodes = new Map<string, ChainNode>();
  for (const node of definition.nodes) if (!nodes.has(node.id)) nodes.set(node.id, node);
  const outgoing = new Map<string, ChainEdge[]>();
  const incoming = new Map<string, ChainEdge[]>();
  for (const id of nodes.keys()) {
    outgoing.set(id, []);
    incoming.set(id, []);
  }
  const edges = definition.edges.filter((edge) => {
    if (edge.from === edge.to || !nodes.has(edge.from) || !nodes.has(edge.to)) return false;
    outgoing.get(edge.from)!.push(edge);
    incoming.get(edge.to)!.push(edge);
    return true;
  });
  return { nodes, edges, outgoing, incoming };
}

/** Descriptor of each NF, by node. */
export function descriptorsByNode({ nodes }: Pick<ChainDefinition, 'nodes'>): ReadonlyMap<string, string> {
  return new Map(nodes.flatMap((node) => (node.kind === 'nf' ? [[node.id, node.nf] as const] : [])));
}

/** Nodes that can be reached from `start` along the edges, or against them; `start` included. */
export function reachableFrom(graph: ChainGraph, start: string, direction: 'along' | 'against'): Set<string> {
  const seen = new Set([start]);
  for (const id of seen) {
    const edges = (direction === 'along' ? graph.outgoing : graph.incoming).get(id) ?? [];
    for (const edge of edges) seen.add(direction === 'along' ? edge.to : edge.from);
  }
  return seen;
}

/** Nodes so ordered that every edge points forward; `null` when there is a cycle. */
export function topologicalOrder(graph: ChainGraph): string[] | null {
  const missing = new Map([...graph.nodes.keys()].map((id) => [id, graph.incoming.get(id)!.length]));
  const order = [...missing].filter(([, count]) => count === 0).map(([id]) => id);
  for (const id of order) {
    for (const { to } of graph.outgoing.get(id)!) {
      const left = missing.get(to)! - 1;
      missing.set(to, left);
      if (left === 0) order.push(to);
    }
  }
  return order.length === graph.nodes.size ? order : null;
}

/** One shortest cycle for each set of nodes that lie on common cycles, as the edges along it. */
export function findCycles(graph: ChainGraph): ChainEdge[][] {
  const cycles: ChainEdge[][] = [];
  const done = new Set<string>();
  for (const start of graph.nodes.keys()) {
    if (done.has(start)) continue;
    const cycle = shortestCycleThrough(graph, start);
    if (!cycle) continue;
    cycles.push(cycle);
    const after = reachableFrom(graph, start, 'along');
    const before = reachableFrom(graph, start, 'against');
    for (const id of after) if (before.has(id)) done.add(id);
  }
  return cycles;
}

function shortestCycleThrough(graph: ChainGraph, start: string): ChainEdge[] | null {
  const cameBy = new Map<string, ChainEdge>();
  const queue = [start];
  for (const id of queue) {
    for (const edge of graph.outgoing.get(id)!) {
      if (cameBy.has(edge.to)) continue;
      cameBy.set(edge.to, edge);
      if (edge.to !== start) {
        queue.push(edge.to);
        continue;
      }
      const cycle: ChainEdge[] = [];
      for (let at: ChainEdge | null = edge; at; at = at.from === start ? null : cameBy.get(at.from)!) cycle.unshift(at);
      return cycle;
    }
  }
  return null;
}
