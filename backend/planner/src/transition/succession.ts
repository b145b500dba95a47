import { generationOf, lineageOf, nfInstances, type Plan } from '@orrery/contract';
import { type PartOf, withParts } from '../igraph/parts.js';
import { NOTHING_KNOWN, type Recall } from '../recall.js';

/** The graph whose instances are called what the running ones of the same lineage are called. */
export function withRunningNames<Graph extends AnyGraph>(
  graph: Graph,
  base: Plan | null,
  recall?: Recall,
): Renamed<Graph> {
  const running = nfInstances(base?.graph).map(({ id }): [string, string] => [lineageOf(id), id]);
  return renamed(graph, new Map(running), recall);
}

/** Ids for running instances that move. */
export function successors(ids: readonly string[]): Map<string, string> {
  return new Map(ids.map((id) => [id, `${lineageOf(id)}-${generationOf(id) + 1}`]));
}

interface AnyGraph {
  readonly nodes: readonly { readonly id: string; readonly chain_id: string }[];
  readonly edges: readonly { readonly chain_id: string; readonly from: string | null; readonly to: string }[];
}
type Renamed<Graph extends AnyGraph> = { nodes: Graph['nodes'][number][]; edges: Graph['edges'][number][] };

/** The graph with other ids for some of its nodes. A chain without any keeps its very part. */
export function renamed<Graph extends AnyGraph>(
  graph: Graph,
  names: ReadonlyMap<string, string>,
  recall: Recall = NOTHING_KNOWN,
): Renamed<Graph> {
  const name = (id: string) => names.get(id) ?? id;
  return withParts<Graph, PartOf<Graph>>(graph, (part) => {
    if (part.nodes.every(({ id }) => name(id) === id)) return part;
    const changed = part.nodes.map(({ id }) => name(id));
    return recall.of('renamed', [recall.nameOf(part), changed], () => ({
      nodes: part.nodes.map((node) => ({ ...node, id: name(node.id) })),
      edges: part.edges.map((edge) => ({
        ...edge,
        from: edge.from === null ? null : name(edge.from),
        to: name(edge.to),
      })),
    }));
  });
}

/** For instances that moved: the one that each follows. */
export function predecessorsByMove(base: Plan | null, ids: readonly string[]): Map<string, string> {
  const now = new Set(ids);
  const left = new Map(
    nfInstances(base?.graph).flatMap(({ id }) => (now.has(id) ? [] : [[lineageOf(id), id] as const])),
  );
  if (left.size === 0) return new Map();
  return new Map(
    ids.flatMap((id) => {
      const old = left.get(lineageOf(id));
      return old === undefined ? [] : [[id, old] as const];
    }),
  );
}
