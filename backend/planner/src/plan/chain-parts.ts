import type { InstanceGraph, Plan, PlannedChain } from '@orrery/contract';
import type { AssignedImplementations } from '../check/assigned-implementation.js';
import { grouped } from '../grouped.js';
import { placedNodes } from '../igraph/graph.js';
import { partOf } from '../igraph/parts.js';
import { pgraphOfChain } from '../igraph/pgraph.js';
import type { Recall } from '../recall.js';
import { coreKey } from '../slo/placed.js';
import { assignedIn } from './graphs.js';

/** By graph. */
const NAMES = new WeakMap<InstanceGraph, Map<PlannedChain, string>>();

/**
 * A name for each chain with all that decides how it runs in a placed plan, apart from links that others use too: its
 * estimates, its part of the graph, and what shares the cores of its instances. Made once for each graph.
 */
export function chainNames(
  recall: Recall,
  pgraph: Plan['pgraph'],
  graph: InstanceGraph,
): (chain: PlannedChain) => string {
  const known = NAMES.get(graph);
  const names = known ?? new Map<PlannedChain, string>();
  if (!known) NAMES.set(graph, names);
  const loads = new Map<string, string>();
  for (const [core, nodes] of grouped(placedNodes(graph), coreKey))
    loads.set(core, nodes.map(({ chain_id, kind, core_share }) => `${chain_id} ${kind} ${core_share}`).join());
  return (chain) => {
    const before = names.get(chain);
    if (before !== undefined) return before;
    const own = partOf(graph, chain.chain_id);
    const cores = new Set(placedNodes(own).map(coreKey));
    const parts = [chain, pgraphOfChain(pgraph, chain), own].map((part) => recall.nameOf(part));
    const name = [...parts, ...[...cores].map((core) => loads.get(core)!)].join('; ');
    names.set(chain, name);
    return name;
  };
}

/** As `chainNames`, of what does not depend on where the chain runs. */
export function unplacedName(
  recall: Recall,
  pgraph: Plan['pgraph'],
  implementations: AssignedImplementations,
  chain: PlannedChain,
): string {
  const own = recall.nameOf(pgraphOfChain(pgraph, chain));
  return `${recall.nameOf(chain)}; ${own}; ${JSON.stringify(assignedIn(chain, implementations))}`;
}
