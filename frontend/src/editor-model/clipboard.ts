import { PipelineDefinition, type PipelineEdge, type PipelineNode } from '@orrery/contract';
import { parse, stringify } from 'yaml';
import { type Point, renameInFilter, snap } from './edit.js';
import { edgesWithin, type Selection } from './graph.js';
import { freshEdgeId, freshName } from './identifiers.js';

/** A part of a chain that stands alone: nodes and the edges between them. */
export interface Fragment {
  nodes: PipelineNode[];
  edges: PipelineEdge[];
}

const { nodes: Nodes, edges: Edges } = PipelineDefinition.shape;

/** The selected nodes and the edges between them. */
export function copy(definition: PipelineDefinition, selection: Pick<Selection, 'nodes'>): Fragment {
  const ids = new Set(selection.nodes);
  return structuredClone({
    nodes: definition.nodes.filter((node) => ids.has(node.id)),
    edges: edgesWithin(definition, ids),
  });
}

/** As text for the system clipboard; a whole chain's YAML can be pasted just the same. */
export function fragmentToYaml(fragment: Fragment): string {
  return stringify(fragment, { lineWidth: 120 });
}

/** The fragment in a text, or null when it holds none. */
export function fragmentFromYaml(text: string): Fragment | null {
  if (text.length > 1_000_000 || !text.includes('nodes')) return null;
  try {
    const value: { nodes?: unknown; edges?: unknown } | null = parse(text);
    const nodes = Nodes.safeParse(value?.nodes);
    const edges = Edges.safeParse(value?.edges ?? []);
    return nodes.success && edges.success && nodes.data.length > 0 ? { nodes: nodes.data, edges: edges.data } : null;
  } catch {
    return null;
  }
}

export type Pasted = { ok: true; definition: PipelineDefinition; selection: Selection } | { ok: false; reason: string };

/**
 * Adds a fragment under fresh ids: filters inside it follow their nodes, and filters on nodes outside it keep their
 * names. Ends of the chain that it already has are left out. `at` is the place of the fragment's upper left corner.
 */
export function paste(definition: PipelineDefinition, fragment: Fragment, at?: Point): Pasted {
  const hasIngress = definition.nodes.some((node) => node.kind === 'ingress');
  const hasEgress = definition.nodes.some((node) => node.kind === 'egress');
  const nodes = fragment.nodes.filter(
    (node) => node.kind === 'nf' || !(node.kind === 'ingress' ? hasIngress : hasEgress),
  );
  if (nodes.length === 0) return { ok: false, reason: 'There is nothing to paste that the chain does not have.' };
  if (definition.nodes.length + nodes.length > 200) return { ok: false, reason: 'A chain holds at most 200 nodes.' };

  const takenNodes = new Set(definition.nodes.map((node) => node.id));
  const renamed = new Map<string, string>();
  for (const node of nodes) {
    const id = freshName(node.id.replace(/-\d+$/, ''), takenNodes);
    takenNodes.add(id);
    renamed.set(node.id, id);
  }
  const placed = nodes.flatMap((node) => (node.position ? [node.position] : []));
  const origin = {
    x: Math.min(...placed.map((point) => point.x), Number.POSITIVE_INFINITY),
    y: Math.min(...placed.map((point) => point.y), Number.POSITIVE_INFINITY),
  };
  const shift =
    at && Number.isFinite(origin.x) ? { x: at.x - origin.x, y: at.y - origin.y } : freeShift(definition, nodes);
  const newNodes = nodes.map((node) => ({
    ...structuredClone(node),
    id: renamed.get(node.id)!,
    ...(node.position ? { position: snap({ x: node.position.x + shift.x, y: node.position.y + shift.y }) } : {}),
  }));

  const takenEdges = new Set(definition.edges.map((edge) => edge.id));
  const newEdges = fragment.edges.flatMap((edge) => {
    const from = renamed.get(edge.from);
    const to = renamed.get(edge.to);
    if (!from || !to) return [];
    const id = freshEdgeId(takenEdges);
    takenEdges.add(id);
    const filter = renameInFilter(edge.filter, (name) => renamed.get(name) ?? name);
    return [{ ...structuredClone(edge), id, from, to, filter }];
  });
  if (definition.edges.length + newEdges.length > 600) {
    return { ok: false, reason: 'A chain holds at most 600 connections.' };
  }
  return {
    ok: true,
    selection: { nodes: newNodes.map((node) => node.id), edges: newEdges.map((edge) => edge.id) },
    definition: {
      ...definition,
      nodes: [...definition.nodes, ...newNodes],
      edges: [...definition.edges, ...newEdges],
    },
  };
}

/** The first diagonal step at which no pasted tile covers another exactly. */
function freeShift(definition: PipelineDefinition, nodes: readonly PipelineNode[]): Point {
  const key = (point: Point) => `${Math.round(point.x)},${Math.round(point.y)}`;
  const taken = new Set(definition.nodes.flatMap((node) => (node.position ? [key(node.position)] : [])));
  for (let step = 1; ; step++) {
    const shift = { x: step * 32, y: step * 32 };
    const free = nodes.every(
      ({ position }) => !position || !taken.has(key(snap({ x: position.x + shift.x, y: position.y + shift.y }))),
    );
    if (free) return shift;
  }
}

/** Copies the selection beside itself. */
export function duplicate(definition: PipelineDefinition, selection: Selection): Pasted {
  if (selection.nodes.length === 0) return { ok: false, reason: 'Select the nodes to duplicate first.' };
  return paste(definition, copy(definition, selection));
}
