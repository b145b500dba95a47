import type { FlowSelector } from '@orrery/contract';
import { type GraphEdge, type NfDescriptor, nfInstances, type Plan, type Target, unknownField } from '@orrery/contract';

/** An instance, or a module beside instances, behind which a split sends flows to both of two instances. */
export interface SteeringPoint {
  readonly instance_id: string;
  readonly server: string;
  readonly from: Target;
  readonly to: Target;
}

/** Where flows are steered, and after how long without a packet a flow is none that is in progress. */
export interface Steering {
  readonly points: readonly SteeringPoint[];
  readonly idle_timeout_s: number;
}

/** Where flows that go from one instance to another of the same NF are steered; or why they can't be, as a sentence. */
export function steeringBetween(
  { graph, splits = [] }: Pick<Plan, 'graph' | 'splits'>,
  { return_traffic }: Pick<NfDescriptor, 'return_traffic'>,
  { from, to, flows }: { readonly from: string; readonly to: string; readonly flows: FlowSelector },
): Steering | string {
  const split = splits.find(({ targets }) => [from, to].every((id) => targets.some((it) => it.instance_id === id)));
  if (!split) return `No split leads to both ${from} and ${to}.`;
  const { node_id, at, key, keep_flows } = split;
  if (at === 'switch')
    return `Switches split the flows of ${node_id} by ranges, and send no single flow elsewhere: change its ranges.`;
  if (!keep_flows) return `The split of ${node_id} does not track flows: let flows in progress stay first.`;
  if (return_traffic) return `Replies come to the address of ${from}, which no split can change.`;
  const other = unknownField(flows, key);
  if (other) return `The split of ${node_id} does not tell flows apart by ${other.field}.`;
  const instances = new Map(nfInstances(graph).map((it) => [it.id, it]));
  const follower = graph.edges.find(
    ({ from: source, to: next, key: own, direction }) =>
      source === from && direction === 'forward' && own.length === 0 && isSplitUp(next, instances),
  );
  if (follower)
    return `The flows of ${instances.get(follower.to)!.node_id} follow those of ${node_id}: set its own ranges first.`;
  const ways = graph.edges.filter(({ direction, key: own }) => direction === 'forward' && own.length > 0);
  const sources = new Map(graph.nodes.flatMap((it) => (it.kind === 'exit' ? [] : [[it.id, it] as const])));
  const points: SteeringPoint[] = [];
  for (const edge of ways.filter((it) => it.to === from)) {
    const source = edge.from === null ? undefined : sources.get(edge.from);
    const sibling = ways.find((it) => it.to === to && it.from === edge.from && it.pgraph_edge === edge.pgraph_edge);
    if (!source || !sibling) return `Packets reach ${from} by another way than an engine's split.`;
    if (points.some(({ instance_id }) => instance_id === source.id)) continue;
    points.push({ instance_id: source.id, server: source.server, from: targetOf(edge), to: targetOf(sibling) });
  }
  return { points, idle_timeout_s: keep_flows.idle_timeout_s };
}

/** Whether the NF of an instance has several. */
function isSplitUp(id: string, instances: ReadonlyMap<string, { pgraph_node: string }>): boolean {
  const nf = instances.get(id)?.pgraph_node;
  return nf !== undefined && [...instances.values()].filter(({ pgraph_node }) => pgraph_node === nf).length > 1;
}

/** As the desired state of its server names it. */
function targetOf({ hop, to }: GraphEdge): Target {
  return hop === null ? { kind: 'instance', instance_id: to } : { kind: 'hop', hop };
}
