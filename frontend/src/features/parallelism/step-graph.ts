import type { ChainDefinition, GraphNode, Instance, MergeNode, MirrorNode, Plan } from '@orrery/contract';
import type { Link } from '../../shared/parallel/graph-layout.js';

/** A part of a chain, as it is drawn or as it runs. */
export type StepVertex =
  | {
      readonly kind: 'nf';
      readonly id: string;
      readonly node: string;
      readonly nf: string;
      /** Empty: it does not run. */
      readonly instances: readonly Instance[];
    }
  | {
      readonly kind: 'mirror' | 'merge';
      readonly id: string;
      readonly node: null;
      readonly joint: MirrorNode | MergeNode;
    }
  | { readonly kind: 'end'; readonly id: string; readonly node: null; readonly name: string };

export interface StepGraph {
  readonly vertices: readonly StepVertex[];
  readonly links: readonly Link[];
}

/** The chain as its designer drew it, with the instances that a plan gives its NFs. */
export function drawnGraph(definition: ChainDefinition, instances: readonly Instance[]): StepGraph {
  return {
    vertices: definition.nodes.map((node): StepVertex => {
      if (node.kind !== 'nf') return { kind: 'end', id: node.id, node: null, name: END_NAMES[node.kind] };
      const own = instances.filter(({ node_id }) => node_id === node.id);
      return { kind: 'nf', id: node.id, node: node.id, nf: node.nf, instances: own };
    }),
    links: [...new Map(definition.edges.map(({ from, to }) => [`${from} ${to}`, { from, to }])).values()],
  };
}

const END_NAMES = { ingress: 'in', egress: 'out' } as const;
const IN = 'ingress';
const OUT = 'egress';

/**
 * The chain as a plan runs it: its NFs, each with all of its instances, and its mirrors and merges. Queues, which only begin
 * tasks, splits in front of instances, and what goes back to clients or announces dropped packets are left out.
 */
export function runGraph({ graph }: Pick<Plan, 'graph'>, chainId: string): StepGraph {
  const own = graph.nodes.filter(({ chain_id }) => chain_id === chainId);
  const byId = new Map(own.map((node) => [node.id, node]));
  const edges = graph.edges.filter(({ chain_id, direction }) => chain_id === chainId && direction === 'forward');
  /** What an edge leads to, past queues and splits. */
  const targets = (to: string): string[] =>
    isPassed(byId.get(to)) ? edges.filter(({ from }) => from === to).flatMap((edge) => targets(edge.to)) : [to];
  const links = new Map<string, Link>();
  for (const edge of edges) {
    if (edge.from !== null && isPassed(byId.get(edge.from))) continue;
    const from = edge.from === null ? IN : vertexId(byId.get(edge.from));
    for (const target of targets(edge.to)) {
      const to = vertexId(byId.get(target));
      if (from !== null && to !== null) links.set(`${from} ${to}`, { from, to });
    }
  }
  const used = new Set([...links.values()].flatMap(({ from, to }) => [from, to]));
  const vertices = [
    { kind: 'end', id: IN, node: null, name: END_NAMES.ingress } as const,
    ...verticesOf(own),
    { kind: 'end', id: OUT, node: null, name: END_NAMES.egress } as const,
  ].filter(({ id }) => used.has(id));
  return { vertices, links: byBranch([...links.values()], vertices) };
}

function isPassed(node: GraphNode | undefined): boolean {
  return node?.kind === 'queue' || node?.kind === 'split';
}

function vertexId(node: GraphNode | undefined): string | null {
  if (!node || isPassed(node)) return null;
  if (node.kind === 'exit') return node.direction === 'forward' ? OUT : null;
  return node.kind === 'nf' ? node.node_id : node.id;
}

function verticesOf(nodes: readonly GraphNode[]): StepVertex[] {
  const instances = nodes.filter((node) => node.kind === 'nf');
  return nodes.flatMap((node): StepVertex[] => {
    if (node.kind === 'mirror' || node.kind === 'merge')
      return [{ kind: node.kind, id: node.id, node: null, joint: node }];
    if (node.kind !== 'nf') return [];
    const own = instances.filter(({ node_id }) => node_id === node.node_id);
    if (own[0] !== node) return [];
    return [{ kind: 'nf', id: node.node_id, node: node.node_id, nf: node.nf, instances: own }];
  });
}

/** Links of one vertex in the order of what they lead to, so that branches are drawn in the order of the chain. */
function byBranch(links: readonly Link[], vertices: readonly StepVertex[]): Link[] {
  const place = new Map(vertices.map(({ id }, index) => [id, index]));
  return links.toSorted((a, b) => place.get(a.from)! - place.get(b.from)! || place.get(a.to)! - place.get(b.to)!);
}
