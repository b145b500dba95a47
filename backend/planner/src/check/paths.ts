import type { ChainDefinition, ChainEdge } from '@orrery/contract';
import { wayOf } from './attributes.js';
import { type ChainGraph, graphOf, reachableFrom } from './graph.js';

/** A path class: the packets of the chain that take one path from ingress to egress. */
export interface Path {
  /** `<chain>.<edges joined by />`; unique among the chain's. */
  readonly id: string;
  readonly edges: readonly string[];
  /** NFs, without ingress and egress. */
  readonly nodes: readonly string[];
}

/** Maximum number of classes that are distinguished: their number grows exponentially with the branches. */
export const MAX_PATHS = 64;

/**
 * Every path from ingress to egress, in the order of the edges; `null` if there are more than `MAX_PATHS`.
 * Precondition: the definition has no cycle.
 */
export function pathsOf(definition: ChainDefinition): readonly Path[] | null {
  const known = KNOWN.get(definition);
  if (known !== undefined) return known;
  const paths = foundPaths(definition);
  KNOWN.set(definition, paths);
  return paths;
}

/** Every step of planning asks for them. */
const KNOWN = new WeakMap<ChainDefinition, readonly Path[] | null>();

function foundPaths(definition: ChainDefinition): readonly Path[] | null {
  const graph = graphOf(definition);
  const paths: Path[] = [];
  const ends = [...graph.nodes.values()].filter(({ kind }) => kind === 'egress');
  const leads = new Set(ends.flatMap(({ id }) => [...reachableFrom(graph, id, 'against')]));
  const starts = [...graph.nodes.values()].filter(({ kind, id }) => kind === 'ingress' && leads.has(id));
  for (const { id } of starts) if (!walk(graph, leads, definition.name, id, [], [], paths)) return null;
  return paths;
}

/** `false` if there are too many. `leads`: nodes from which a path leads to the egress, so that no step is in vain. */
function walk(
  graph: ChainGraph,
  leads: ReadonlySet<string>,
  chain: string,
  at: string,
  edges: string[],
  nodes: string[],
  paths: Path[],
): boolean {
  const { kind } = graph.nodes.get(at)!;
  if (kind === 'egress') {
    paths.push({ id: `${chain}.${pathName(edges, paths.length + 1)}`, edges: [...edges], nodes: [...nodes] });
    return paths.length <= MAX_PATHS;
  }
  if (kind === 'nf') nodes.push(at);
  let few = true;
  for (const edge of graph.outgoing.get(at)!) {
    if (!few) break;
    if (!leads.has(edge.to) || !isOnWay(edge, edges, graph)) continue;
    edges.push(edge.id);
    few = walk(graph, leads, chain, edge.to, edges, nodes, paths);
    edges.pop();
  }
  if (kind === 'nf') nodes.pop();
  return few;
}

/** Whether packets of the edges before may take the edge: no packet is on two ways. */
function isOnWay(edge: ChainEdge, before: readonly string[], graph: ChainGraph): boolean {
  const first = before[0] === undefined ? undefined : graph.edges.find(({ id }) => id === before[0]);
  if (!first) return true;
  const [taken, needed] = [first, edge].map(({ filter }) => wayOf(first.from, filter));
  return taken === null || needed === null || taken === needed;
}

/** Longest name of a way: behind a chain's name it stays an identifier. */
const MAX_NAME = 70;

/** The edges of a way; a way with a long name is called by its first edge and its place among all. */
export function pathName(edges: readonly string[], place: number): string {
  const name = edges.join('/');
  return name.length <= MAX_NAME ? name : `${edges[0]}/way-${place}`;
}
