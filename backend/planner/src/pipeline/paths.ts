import type { PipelineDefinition } from '@orrery/contract';
import { graphOf, type PipelineGraph } from './graph.js';

/** A traffic class: the packets of the pipeline that take one way from ingress to egress. */
export interface Path {
  /** `<pipeline>.<edges joined by />`; unique among the pipeline's. */
  readonly id: string;
  readonly edges: readonly string[];
  /** NFs, without ingress and egress. */
  readonly nodes: readonly string[];
}

/** More classes than this are not told apart: their number grows exponentially with the branches. */
export const MAX_PATHS = 64;

/**
 * Every way from ingress to egress, in the order of the edges; `null` when there are more than `MAX_PATHS`.
 * Precondition: the definition has no cycle.
 */
export function pathsOf(definition: PipelineDefinition): readonly Path[] | null {
  const graph = graphOf(definition);
  const paths: Path[] = [];
  const starts = [...graph.nodes.values()].filter(({ kind }) => kind === 'ingress');
  for (const { id } of starts) if (!walk(graph, definition.name, id, [], [], paths)) return null;
  return paths;
}

/** `false` when there are too many. */
function walk(
  graph: PipelineGraph,
  pipeline: string,
  at: string,
  edges: string[],
  nodes: string[],
  paths: Path[],
): boolean {
  const { kind } = graph.nodes.get(at)!;
  if (kind === 'egress') {
    paths.push({ id: `${pipeline}.${pathName(edges, paths.length + 1)}`, edges: [...edges], nodes: [...nodes] });
    return paths.length <= MAX_PATHS;
  }
  if (kind === 'nf') nodes.push(at);
  let few = true;
  for (const edge of graph.outgoing.get(at)!) {
    edges.push(edge.id);
    few &&= walk(graph, pipeline, edge.to, edges, nodes, paths);
    edges.pop();
  }
  if (kind === 'nf') nodes.pop();
  return few;
}

/** Longest name of a way: behind a pipeline's name it stays an identifier. */
const MAX_NAME = 70;

/** The edges of a way; a way with a long name is called by its first edge and its place among all. */
function pathName(edges: readonly string[], place: number): string {
  const name = edges.join('/');
  return name.length <= MAX_NAME ? name : `${edges[0]}/way-${place}`;
}
