import { ChainDefinition, type ChainEdge, type ChainNode } from '@orrery/contract';
import { parse, stringify } from 'yaml';
import { type Point, renameInFilter, snap } from './edit.js';
import { edgesWithin, type Selection } from './graph.js';
import { freshEdgeId, freshName } from './identifiers.js';

/** A self-contained part of a chain: nodes and the edges between them. */
export interface Fragment {
  nodes: ChainNode[];
  edges: ChainEdge[];
}

const { nodes: Nodes, edges: Edges } = ChainDefinition.shape;

/** The selected nodes and the edges between them. */
export function copy(definition: ChainDefinition, selection: Pick<Selection, 'nodes'>): Fragment {
  const ids = new Set(selection.nodes);
  return structuredClone({
    nodes: definition.nodes.filter((node) => ids.has(node.id)),
    edges: edgesWithin(definition, ids),
  });
}

/** As text for the system clipboard; the YAML of a whole chain can also be pasted. */
export function fragmentToYaml(fragment: Fragment): string {
  return stringify(fragment, { lineWidth: 120 });
}

/** The fragment in a text, or null if there is none. */
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

export type Pasted = { ok: true; definition: ChainDefinition; selection: Selection } | { ok: false; reason: string };

/**
 * Adds a fragment under fresh ids: filters inside it follow their nodes, and filters on nodes outside it keep their
 * names. Chain ends that already exist are omitted. `at` is the position of the fragment's upper left corner.
 */
export function paste(definition: ChainDefinition, fragment: Fragment, at?: Point): Pasted {
  const hasIngress = definition.nodes.some((node) => node.kind === 'ingress');
  const hasEgress = definition.nodes.some((node) => node.kind === 'egress');
  const nodes = fragment.nodes.filter(
    (node) => node.kind === 'nf' || !(node.kind === 'ingress' ? hasIngress : hasEgress),
  );
  if (nodes.length === 0) return { ok: false, reason: 'Nothing to paste: the chain already has all of it.' };
  if (definition.nodes.length + nodes.length > 200) return { ok: false, reason: 'A chain can have at most 200 nodes.' };

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
    return { ok: false, reason: 'A chain can have at most 600 connections.' };
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
function freeShift(definition: ChainDefinition, nodes: readonly ChainNode[]): Point {
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

/** Duplicates the selection next to itself. */
export function duplicate(definition: ChainDefinition, selection: Selection): Pasted {
  if (selection.nodes.length === 0) return { ok: false, reason: 'Select the nodes to duplicate first.' };
  return paste(definition, copy(definition, selection));
}
