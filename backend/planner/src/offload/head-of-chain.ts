import type { ChainDefinition, ChainEdge, ChainNode } from '@orrery/contract';
import { NF_TABLES } from '@orrery/contract';
import { type ChainGraph, graphOf } from '../check/graph.js';

type NfNode = Extract<ChainNode, { kind: 'nf' }>;

/** An NF by which all packets of one class go first, or behind others such as it. */
export interface HeadNf {
  readonly node: NfNode;
  /** The edge from the ingress by which its packets come. */
  readonly from: string;
}

/** Why an NF is not at the beginning of its chain, by node, and those that are, in order. */
export function headsOf(definition: ChainDefinition): {
  readonly heads: readonly HeadNf[];
  readonly others: ReadonlyMap<string, string>;
} {
  const graph = graphOf(definition);
  const heads: HeadNf[] = [];
  const others = new Map<string, string>();
  for (const edge of graph.edges) {
    if (graph.nodes.get(edge.from)!.kind !== 'ingress') continue;
    let next: string | null = edge.to;
    for (let stage = 0; next !== null; stage++) {
      const node: ChainNode = graph.nodes.get(next)!;
      if (node.kind !== 'nf') break;
      const because =
        stage < NF_TABLES.length
          ? obstacleAt(node.id, graph)
          : `A switch runs ${NF_TABLES.length} NFs of a class at most.`;
      if (because) {
        others.set(node.id, because);
        break;
      }
      heads.push({ node, from: edge.id });
      next = graph.outgoing.get(node.id)![0]!.to;
    }
  }
  const found = new Set(heads.map(({ node }) => node.id));
  for (const node of graph.nodes.values())
    if (node.kind === 'nf' && !found.has(node.id) && !others.has(node.id))
      others.set(node.id, 'It is not at the beginning of its chain: packets come to it from another NF on a server.');
  return { heads, others };
}

function obstacleAt(id: string, graph: ChainGraph): string | null {
  const [leaving, entering] = [graph.outgoing.get(id)!, graph.incoming.get(id)!];
  if (entering.length > 1) return 'Packets come to it on several ways.';
  if (leaving.length !== 1 || leaving[0]!.filter.length > 0) return 'Packets go from it on several ways.';
  const next = graph.nodes.get(leaving[0]!.to)!;
  if (next.kind !== 'nf')
    return 'It is the last NF of its chain: what leaves a chain, and how late, is measured on a server.';
  if (graph.incoming.get(next.id)!.length > 1) return `Packets come to ${next.id} behind it on several ways.`;
  return null;
}

/** The chain without NFs at its beginning: the edge from the ingress leads to the NF behind them. */
export function withoutHeads(definition: ChainDefinition, gone: ReadonlySet<string>): ChainDefinition {
  if (gone.size === 0) return definition;
  const after = new Map(definition.edges.filter(({ from }) => gone.has(from)).map((edge) => [edge.from, edge]));
  const edges = definition.edges.flatMap((edge): ChainEdge[] => {
    if (gone.has(edge.from)) return [];
    let last = edge;
    for (let next = after.get(last.to); next; next = after.get(last.to)) last = next;
    const rate_bps = last.rate_bps ?? edge.rate_bps;
    return [{ ...edge, to: last.to, ...(rate_bps === undefined ? {} : { rate_bps }) }];
  });
  return { ...definition, nodes: definition.nodes.filter(({ id }) => !gone.has(id)), edges };
}

/** Edges and NFs of a path with those that `withoutHeads` took away. */
export function wholePath(
  definition: ChainDefinition,
  gone: ReadonlySet<string>,
  path: { readonly edges: readonly string[]; readonly nodes: readonly string[] },
): { edges: string[]; nodes: string[] } {
  const edges: string[] = [];
  const nodes: string[] = [];
  const byId = new Map(definition.edges.map((edge) => [edge.id, edge]));
  const after = new Map(definition.edges.map((edge) => [edge.from, edge]));
  for (const id of path.edges) {
    edges.push(id);
    for (let at = byId.get(id)!.to; gone.has(at); at = after.get(at)!.to) {
      nodes.push(at);
      edges.push(after.get(at)!.id);
    }
  }
  return { edges, nodes: [...nodes, ...path.nodes] };
}
