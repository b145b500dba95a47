import type { Calibration, Infrastructure, InstanceGraph, NfDescriptor, Plan, PlannedChain } from '@orrery/contract';
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
  /** Absent: the built-in figures. */
  readonly calibration?: Calibration;
}

export function coreKey({ server, core }: Pick<PlacedNode, 'server' | 'core'>): string {
  return `${server}/${core}`;
}

const KNOWN_USE = new WeakMap<object, ReadonlyMap<string, number>>();

/** Estimated utilization of each core; added up once for each graph. */
export function coreUse(graph: Pick<InstanceGraph, 'nodes'>): ReadonlyMap<string, number> {
  const known = KNOWN_USE.get(graph);
  if (known) return known;
  const use = new Map<string, number>();
  for (const node of placedNodes(graph)) use.set(coreKey(node), (use.get(coreKey(node)) ?? 0) + node.core_share);
  KNOWN_USE.set(graph, use);
  return use;
}
