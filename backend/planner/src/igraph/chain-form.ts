import type { Filter, Plan, PlannedChain } from '@orrery/contract';
import { indexOf, type PGraph, type PGraphNode, pgraphNodeId } from './pgraph.js';

/** A node of a chain, which stands for all of its instances. */
export type FormNode =
  | {
      readonly kind: 'nf';
      readonly id: string;
      readonly node: PGraphNode;
      /** In a branch of a parallel step. */
      readonly branch: boolean;
    }
  | { readonly kind: 'mirror'; readonly id: string; readonly load_bps: number; readonly copies: number }
  | {
      readonly kind: 'merge';
      readonly id: string;
      readonly load_bps: number;
      readonly copies: number;
      readonly mirror: string;
    };

export interface FormEdge {
  readonly id: string;
  readonly pgraph_edge: string;
  /** `null`: the hosts. */
  readonly from: string | null;
  /** `null`: the exit. */
  readonly to: string | null;
  readonly filter: Filter;
  readonly rate_bps: number;
}

/** The NFs of a chain in the order in which they run: as they are drawn, or with parallel steps. */
export interface ChainForm {
  readonly chain: PlannedChain;
  readonly nodes: readonly FormNode[];
  readonly edges: readonly FormEdge[];
}

/** The chain as drawn, without traffic that no NF processes, because it never reaches a server. */
export function drawnForm(chain: PlannedChain, pgraph: PGraph): ChainForm {
  const { definition } = chain;
  const { nodes, edges } = indexOf(pgraph);
  return {
    chain,
    nodes: definition.nodes.flatMap(({ id }): FormNode[] => {
      const node = nodes.get(pgraphNodeId(definition.name, id));
      return node ? [{ kind: 'nf', id: node.id, node, branch: false }] : [];
    }),
    edges: definition.edges
      .map(({ id }): Plan['pgraph']['edges'][number] => edges.get(`${definition.name}.${id}`)!)
      .filter(({ from, to }) => from !== null || to !== null)
      .map((edge) => ({ ...edge, pgraph_edge: edge.id })),
  };
}
