import { type BoardNode, isPlanned, type NfDescriptor, type PlannedChain } from '@orrery/contract';
import { type ChainGraph, graphOf } from '../check/graph.js';

/** Values of an attribute that the shell of a board tells apart, besides "not set". */
const MOST_VALUES = 3;

/**
 * Why the NF cannot run in a slot whose ports hang on a switch; `null` if it can. The shell there writes the next hop by the
 * class that the module has found, and nothing else: it hashes no flows, makes no copies and ends no chain.
 */
export function obstacleAtSwitch(
  { definition, execution, schedule }: PlannedChain,
  nodeId: string,
  descriptor: NfDescriptor,
): string | null {
  const { title, return_traffic, attributes } = descriptor;
  if (isPlanned(schedule)) return `the chain has a planned schedule, which is of tasks on servers`;
  if (execution === 'parallel') return 'the chain runs in parallel, and only engines make and merge copies';
  if (return_traffic) return `replies come back to ${title} and leave the chain there, which is measured on a server`;
  const graph = graphOf(definition);
  for (const { to, filter } of graph.outgoing.get(nodeId) ?? []) {
    if (graph.nodes.get(to)!.kind !== 'nf')
      return `${title} would be the last NF, and what leaves the chain is measured on a server: another NF has to follow`;
    for (const { attribute } of filter) {
      const own = attribute.startsWith(`${nodeId}.`) ? attribute.slice(nodeId.length + 1) : null;
      if (own === null) return `the slot tells packets apart by what ${title} finds only, and not by ${attribute}`;
      const [first] = attributes;
      if (own !== first?.name) return `the slot finds ${first?.name ?? 'nothing'} only, and not ${attribute}`;
      const values = first.values.length;
      if (values > MOST_VALUES) return `the slot tells ${MOST_VALUES} values apart, and ${attribute} has ${values}`;
    }
  }
  return null;
}

/** Whether a slot of the board can take the NF, as far as the chain decides. */
export function takesNf(
  { attached }: Pick<BoardNode, 'attached'>,
  chain: PlannedChain,
  nodeId: string,
  descriptor: NfDescriptor,
): boolean {
  return attached !== 'switch' || obstacleAtSwitch(chain, nodeId, descriptor) === null;
}

/** Whether packets come to the NF from the hosts only, so that one at a switch has them before any engine. */
export function isFirst(graph: ChainGraph, nodeId: string): boolean {
  return graph.incoming.get(nodeId)!.every(({ from }) => graph.nodes.get(from)!.kind === 'ingress');
}
