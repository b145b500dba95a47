import { grouped } from '../grouped.js';

interface OfChain {
  readonly chain_id: string;
}

/** A graph of which every node and edge belongs to a chain. */
interface GraphOfChains<Node extends OfChain = OfChain, Edge extends OfChain = OfChain> {
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
}

/** What of a graph belongs to a chain. */
export type PartOf<Graph extends GraphOfChains> = Pick<Graph, 'nodes' | 'edges'>;

const PARTS = new WeakMap<object, ReadonlyMap<string, GraphOfChains>>();
const NOTHING: GraphOfChains = { nodes: [], edges: [] };

/** The graph that the parts of several chains make, in their order. By chain. */
export function joined<Node extends OfChain, Edge extends OfChain>(
  parts: readonly (readonly [chain_id: string, part: GraphOfChains<Node, Edge>])[],
): { nodes: Node[]; edges: Edge[] } {
  const graph = { nodes: parts.flatMap(([, { nodes }]) => nodes), edges: parts.flatMap(([, { edges }]) => edges) };
  PARTS.set(graph, new Map(parts));
  return graph;
}

/** What of the graph belongs to each chain: where it was joined, the very parts. */
export function partsOf<Graph extends GraphOfChains>(graph: Graph): ReadonlyMap<string, PartOf<Graph>> {
  const known = PARTS.get(graph);
  if (known) return known as ReadonlyMap<string, PartOf<Graph>>;
  const edges = grouped(graph.edges, ({ chain_id }) => chain_id);
  const nodes = grouped(graph.nodes, ({ chain_id }) => chain_id);
  const chains = new Set([...nodes.keys(), ...edges.keys()]);
  const parts = new Map([...chains].map((id) => [id, { nodes: nodes.get(id) ?? [], edges: edges.get(id) ?? [] }]));
  PARTS.set(graph, parts);
  return parts as unknown as ReadonlyMap<string, PartOf<Graph>>;
}

/** What of the graph belongs to the chain. */
export function partOf<Graph extends GraphOfChains>(graph: Graph, chainId: string): PartOf<Graph> {
  return partsOf(graph).get(chainId) ?? (NOTHING as PartOf<Graph>);
}

/** The graph with another part for some chains. Precondition: its nodes and edges come chain by chain. */
export function withParts<Graph extends GraphOfChains, Changed extends GraphOfChains>(
  graph: Graph,
  change: (part: PartOf<Graph>, chainId: string) => Changed,
): { nodes: Changed['nodes'][number][]; edges: Changed['edges'][number][] } {
  return joined([...partsOf(graph)].map(([id, part]) => [id, change(part, id)] as const));
}

/** The graph with other edges for some chains. Precondition: its edges come chain by chain. */
export function withEdges<Node extends OfChain, Edge extends OfChain>(
  graph: { readonly nodes: Node[]; readonly edges: Edge[] },
  change: (part: PartOf<{ nodes: Node[]; edges: Edge[] }>, chainId: string) => { nodes: Node[]; edges: Edge[] },
): { nodes: Node[]; edges: Edge[] } {
  const parts = new Map([...partsOf(graph)].map(([id, part]) => [id, change(part, id)] as const));
  const after = { nodes: graph.nodes, edges: [...parts.values()].flatMap(({ edges }) => edges) };
  PARTS.set(after, parts);
  return after;
}

/** The graph that has been changed in some chains only: of the others it keeps the very parts. */
export function keepingParts<Graph extends GraphOfChains>(
  graph: Graph,
  before: Graph,
  changed: ReadonlySet<string>,
): Graph {
  const now = partsOf({ nodes: graph.nodes, edges: graph.edges });
  const kept = partsOf(before);
  PARTS.set(graph, new Map([...now].map(([id, part]) => [id, changed.has(id) ? part : (kept.get(id) ?? part)])));
  return graph;
}
