import type { Infrastructure, InstanceGraph, NfDescriptor, Plan, PlannedChain } from '@orrery/contract';
import { type PlacedNode, placedNodes } from '../igraph/graph.js';
import type { Bin } from '../placement/problem.js';

/** A placed plan, as input of the performance models. */
export interface PlacedInput {
  readonly chains: readonly PlannedChain[];
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly bins: readonly Bin[];
  readonly pgraph: Plan['pgraph'];
  readonly graph: InstanceGraph;
}

export function coreKey({ server, core }: Pick<PlacedNode, 'server' | 'core'>): string {
  return `${server}/${core}`;
}

/** Estimated utilization of each core. */
export function coreUse(graph: Pick<InstanceGraph, 'nodes'>): Map<string, number> {
  const use = new Map<string, number>();
  for (const node of placedNodes(graph)) use.set(coreKey(node), (use.get(coreKey(node)) ?? 0) + node.core_share);
  return use;
}
