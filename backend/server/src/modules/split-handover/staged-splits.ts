import {
  type FabricRule,
  type FlowRange,
  type KeptFlowKey,
  keptFlowKey,
  MOST_EXCEPTIONS,
  type NfSplit,
  nfInstances,
  type Plan,
  type PlannedChain,
  type SplitNode,
  type SplitReading,
  type StagedSplit,
} from '@orrery/contract';

/** A split that engines have in front of old instances, with ranges that the switches do not have yet. */
export interface SplitAtServers {
  readonly id: string;
  readonly chain: PlannedChain;
  readonly asked: NfSplit;
  readonly staged: StagedSplit;
  /** The splits in front of instances. */
  readonly nodes: readonly SplitNode[];
  readonly instances: number;
}

/** Those of a plan that can be handed over; one that tracks flows only has nothing to hand over yet. */
export function splitsAtServers({
  chains,
  graph,
  splits,
}: Pick<Plan, 'chains' | 'graph' | 'splits'>): SplitAtServers[] {
  return chains.flatMap((chain) =>
    (chain.splits ?? []).flatMap((asked): SplitAtServers[] => {
      const { node_id, staged } = asked;
      const { chain_id } = chain;
      const held = staged?.held;
      const ranges = splits
        .find((it) => it.chain_id === chain_id && it.node_id === node_id)
        ?.targets.map(({ range }) => range);
      if (!staged || !held || !ranges || sameRanges(ranges, held)) return [];
      const nodes = graph.nodes.flatMap((node) =>
        node.kind === 'split' &&
        node.chain_id === chain_id &&
        node.node_id === node_id &&
        node.in_front_of !== undefined
          ? [node]
          : [],
      );
      const id = `${chain_id}/${node_id}`;
      return nodes.length === 0 ? [] : [{ id, chain, asked, staged, nodes, instances: ranges.length }];
    }),
  );
}

/** Names what is split: who has it, by which ranges, and what the switches have meanwhile. Other changes of the chain leave it. */
export function revisionOf({ asked, staged, nodes, instances }: SplitAtServers): string {
  const places = nodes.map(({ id, server, core }) => [id, server, core]);
  return JSON.stringify([staged.held, asked.ranges ?? null, instances, places]);
}

/** The rules by which switches send the flows of a split to the splits of servers. */
export function classRulesOf(
  nodes: readonly SplitNode[],
  { graph, fabric }: Pick<Plan, 'graph' | 'fabric'>,
): ReadonlySet<string> {
  const ids = new Set(nodes.map(({ id }) => id));
  const hops = new Set(graph.edges.flatMap(({ from, to, hop }) => (from === null && ids.has(to) ? [hop] : [])));
  const leads = ({ kind, targets }: FabricRule) => kind === 'classify' && targets.some(({ hop }) => hops.has(hop));
  return new Set(fabric.rules.filter(leads).map(({ id }) => id));
}

/**
 * The split as a switch is to have it: the exceptions of all servers by the ordinals of their instances, with those of an earlier
 * hand-over that switches still keep. Or why it would miss some of them.
 */
export function handedOver(
  { asked, staged, chain }: SplitAtServers,
  readings: ReadonlyMap<string, SplitReading>,
  kept: readonly KeptFlowKey[],
  graph: Plan['graph'],
): (NfSplit & { readonly staged: StagedSplit }) | string {
  const ordinals = new Map(
    nfInstances(graph)
      .filter(({ chain_id, node_id }) => chain_id === chain.chain_id && node_id === asked.node_id)
      .map(({ id, ordinal }) => [id, ordinal]),
  );
  const found: StagedSplit['exceptions'] = [];
  for (const [split, { exceptions }] of readings)
    for (const { flow, to } of exceptions) {
      const hop = to.kind === 'hop' ? to.hop : null;
      const instance =
        to.kind === 'instance'
          ? to.instance_id
          : graph.edges.find((edge) => edge.from === split && edge.hop === hop && hop !== null)?.to;
      const ordinal = ordinals.get(instance ?? '');
      if (ordinal === undefined)
        return `${split} keeps a flow at ${instance ?? `hop ${hop}`}, which is no instance of ${asked.node_id}`;
      found.push({ flow, ordinal });
    }
  const nameOf = (flow: KeptFlowKey) => [flow.flow_id, flow.ip_src, flow.ip_dst, flow.ip_proto].join();
  const live = new Set(kept.map(nameOf));
  const earlier = staged.exceptions.filter((it) => live.has(nameOf(keptFlowKey(it.flow))));
  const exceptions = [...earlier.filter((it) => !found.some((one) => sameFlow(one, it))), ...found];
  if (exceptions.length > MOST_EXCEPTIONS)
    return `the switch would have to keep ${exceptions.length} flows, more than ${MOST_EXCEPTIONS}`;
  const { held: _held, ...rest } = staged;
  return { ...asked, staged: { ...rest, exceptions } };
}

function sameFlow(one: StagedSplit['exceptions'][number], other: StagedSplit['exceptions'][number]): boolean {
  const text = ({ flow }: typeof one) => JSON.stringify(Object.entries(flow).sort());
  return text(one) === text(other);
}

function sameRanges(some: readonly FlowRange[], others: readonly FlowRange[]): boolean {
  return some.length === others.length && some.every(({ lo, hi }, i) => lo === others[i]!.lo && hi === others[i]!.hi);
}
