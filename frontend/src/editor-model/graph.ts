import type { ChainDefinition, ChainEdge, ChainNode } from '@orrery/contract';

export function nodeOf(definition: ChainDefinition, id: string): ChainNode | undefined {
  return definition.nodes.find((node) => node.id === id);
}

export function edgeOf(definition: ChainDefinition, id: string): ChainEdge | undefined {
  return definition.edges.find((edge) => edge.id === id);
}

/** Display name of the node: its title, otherwise its id. */
export function nodeLabel(node: ChainNode): string {
  return node.title ?? node.id;
}

function closure(definition: ChainDefinition, start: Iterable<string>, step: 'from' | 'to'): Set<string> {
  const next = new Map<string, string[]>();
  for (const edge of definition.edges) {
    const [here, there] = step === 'to' ? [edge.from, edge.to] : [edge.to, edge.from];
    const list = next.get(here);
    if (list) list.push(there);
    else next.set(here, [there]);
  }
  const seen = new Set<string>();
  const stack = [...start];
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    for (const neighbour of next.get(id) ?? []) {
      if (!seen.has(neighbour)) {
        seen.add(neighbour);
        stack.push(neighbour);
      }
    }
  }
  return seen;
}

/** Nodes from which a packet can come to any of `ids`, without `ids` themselves unless they lie on a cycle. */
export function upstreamOf(definition: ChainDefinition, ids: Iterable<string>): Set<string> {
  return closure(definition, ids, 'from');
}

/** Nodes that a packet can reach from any of `ids`, without `ids` themselves unless they lie on a cycle. */
export function downstreamOf(definition: ChainDefinition, ids: Iterable<string>): Set<string> {
  return closure(definition, ids, 'to');
}

/** Number of paths from an ingress to an egress through each edge; an edge on only one path names a path class. */
export function waysThrough(definition: ChainDefinition): Map<string, number> {
  const count = (end: ChainNode['kind'], step: 'from' | 'to') => {
    const known = new Map<string, number>();
    const visit = (id: string): number => {
      const before = known.get(id);
      if (before !== undefined) return before;
      // Nothing is counted on a cycle: the chain is invalid anyway.
      known.set(id, 0);
      const onward = definition.edges.filter((edge) => edge[step === 'to' ? 'from' : 'to'] === id);
      const ways = onward.reduce((sum, edge) => sum + visit(edge[step]), nodeOf(definition, id)?.kind === end ? 1 : 0);
      known.set(id, ways);
      return ways;
    };
    return visit;
  };
  const before = count('ingress', 'from');
  const behind = count('egress', 'to');
  return new Map(definition.edges.map((edge) => [edge.id, before(edge.from) * behind(edge.to)]));
}

/** Edges with both ends in `ids`. */
export function edgesWithin(definition: ChainDefinition, ids: ReadonlySet<string>): ChainEdge[] {
  return definition.edges.filter((edge) => ids.has(edge.from) && ids.has(edge.to));
}

/** A selection on the canvas; ids of nodes and edges are in separate namespaces. */
export interface Selection {
  nodes: string[];
  edges: string[];
}

export const NOTHING_SELECTED: Selection = { nodes: [], edges: [] };

export function selectAll(definition: ChainDefinition): Selection {
  return { nodes: definition.nodes.map((node) => node.id), edges: definition.edges.map((edge) => edge.id) };
}

/** The selected nodes with everything upstream (`upstream`) or downstream of them, and the edges between. */
export function extendSelection(
  definition: ChainDefinition,
  selection: Selection,
  towards: 'upstream' | 'downstream',
): Selection {
  const reached = (towards === 'upstream' ? upstreamOf : downstreamOf)(definition, selection.nodes);
  const nodes = new Set([...selection.nodes, ...reached]);
  return {
    nodes: definition.nodes.filter((node) => nodes.has(node.id)).map((node) => node.id),
    edges: edgesWithin(definition, nodes).map((edge) => edge.id),
  };
}

/** Removes from a selection what the definition no longer contains. Returns the same object if nothing is gone. */
export function pruneSelection(definition: ChainDefinition, selection: Selection): Selection {
  const nodes = selection.nodes.filter((id) => nodeOf(definition, id));
  const edges = selection.edges.filter((id) => edgeOf(definition, id));
  return nodes.length === selection.nodes.length && edges.length === selection.edges.length
    ? selection
    : { nodes, edges };
}

const NAMED_MOST = 20;

/** A selection as URL text: `node:ids,edge:e2`. Empty for none or too many. */
export function selectionText({ nodes, edges }: Selection): string {
  const names = [...nodes.map((id) => `node:${id}`), ...edges.map((id) => `edge:${id}`)];
  return names.length > NAMED_MOST ? '' : names.join(',');
}

/** Parses what `selectionText` wrote; null if it names nothing. */
export function parseSelection(text: string): Selection | null {
  const parts = text.split(',');
  const pick = (kind: string) => parts.flatMap((part) => (part.startsWith(kind) ? [part.slice(kind.length)] : []));
  const selection = { nodes: pick('node:'), edges: pick('edge:') };
  return selection.nodes.length + selection.edges.length > 0 ? selection : null;
}
