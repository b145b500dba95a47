import type { Filter, FlowRange, MergeBranch, Plan, PlannedChain } from '@orrery/contract';
import { indexOf, type PGraph, type PGraphNode, pgraphNodeId } from './pgraph.js';

/** A node of a chain, which stands for all of its instances. */
export type FormNode =
  | {
      readonly kind: 'nf';
      readonly id: string;
      readonly node: PGraphNode;
      /** The merge at the end of the branch that it lies in; `null`: it lies in none. */
      readonly merge: string | null;
    }
  | (JointForm & { readonly kind: 'mirror' })
  | (JointForm & { readonly kind: 'merge'; readonly mirror: string })
  | {
      /** Shares out flows that come to an NF by an edge from the hosts or a slot at a switch, and that these cannot share out, or not yet. */
      readonly kind: 'split';
      readonly id: string;
      readonly node_id: string;
      readonly pgraph_edge: string;
      /** Flows in progress stay at their instances. */
      readonly tracks: boolean;
      readonly load_bps: number;
      /** The switches and slots that cannot. */
      readonly unable: readonly string[];
      /** Of a staged split: the ranges that the switches have, one for each instance in front of which there is a split. */
      readonly held?: readonly FlowRange[];
    };

/** A mirror or merge of a parallel step. */
interface JointForm {
  readonly id: string;
  readonly load_bps: number;
  readonly branches: readonly MergeBranch[];
  /** The merge of the step in a branch of which this one lies; `null`: none. */
  readonly within: string | null;
}

export interface FormEdge {
  readonly id: string;
  readonly pgraph_edge: string;
  /** `null`: the hosts. */
  readonly from: string | null;
  /** `null`: the exit. */
  readonly to: string | null;
  /** Out of a mirror: the branch that gets the copy. */
  readonly copy?: number;
  /** Into a merge: the branch that it ends. */
  readonly input?: number;
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
      return node ? [{ kind: 'nf', id: node.id, node, merge: null }] : [];
    }),
    edges: definition.edges
      .map(({ id }): Plan['pgraph']['edges'][number] => edges.get(`${definition.name}.${id}`)!)
      .filter(({ from, to }) => from !== null || to !== null)
      .map((edge) => ({ ...edge, pgraph_edge: edge.id })),
  };
}
