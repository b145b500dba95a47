import { type GraphEdge, type InstanceGraph, isAtSwitch, nfInstances } from '@orrery/contract';
import { grouped } from '../grouped.js';
import { inOrder } from '../igraph/graph.js';

const NOBODY: ReadonlySet<string> = new Set();

/**
 * Instances in slots at switches that packets reach before any engine: the latency of a chain is measured from its first
 * engine on, so their time is not part of it.
 */
export function beforeFirstEngine({ nodes, edges }: InstanceGraph): ReadonlySet<string> {
  const atSwitches = nfInstances({ nodes }).filter(isAtSwitch);
  if (atSwitches.length === 0) return NOBODY;
  const forward = edges.filter(({ direction }) => direction === 'forward');
  const entering = grouped(forward, ({ to }) => to);
  const slots = new Set(atSwitches.map(({ id }) => id));
  const before = new Set<string>();
  const order = inOrder(
    nodes.map(({ id }) => id),
    forward,
  );
  for (const id of order)
    if (slots.has(id) && (entering.get(id) ?? []).every((edge) => isFromHosts(edge, before))) before.add(id);
  return before;
}

/** Whether no engine has seen the packets on the edge. */
export function isFromHosts({ from }: Pick<GraphEdge, 'from'>, before: ReadonlySet<string>): boolean {
  return from === null || before.has(from);
}
