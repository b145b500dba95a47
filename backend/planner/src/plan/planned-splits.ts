import { type NfDescriptor, nfInstances, type Plan, type PlannedChain, type PlannedSplit } from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { grouped } from '../grouped.js';
import { askedSplit, keptByEngines, keptBySwitches, keptInFront, rangesOf } from '../igraph/asked-split.js';

/** The NFs whose instances get their flows by ranges (E2 3.4.4); one that follows another NF's split has none itself. */
export function plannedSplits(
  graph: Plan['graph'],
  chains: readonly PlannedChain[],
  descriptors: readonly NfDescriptor[],
): PlannedSplit[] {
  const catalogue = indexDescriptors(descriptors);
  const chainOf = new Map(chains.map((chain) => [chain.chain_id, chain]));
  const hashed = graph.edges.filter(({ key, direction }) => key.length > 0 && direction === 'forward');
  const entering = grouped(hashed, ({ to }) => to);
  return [...grouped(nfInstances(graph), ({ pgraph_node }) => pgraph_node).values()].flatMap(
    (instances): PlannedSplit[] => {
      const edges = instances.flatMap(({ id }) => entering.get(id) ?? []);
      const [first] = edges;
      if (!first || instances.length === 1) return [];
      const { chain_id, node_id, nf } = instances[0]!;
      const asked = askedSplit(chainOf.get(chain_id)!, node_id);
      const ranges = rangesOf(asked, instances.length);
      const at = edges.some(({ from }) => from === null) ? 'switch' : 'engine';
      return [
        {
          chain_id,
          node_id,
          at,
          key: first.key,
          targets: instances.map(({ id, server, ordinal }) => ({ instance_id: id, server, range: ranges[ordinal]! })),
          keep_flows:
            at === 'switch'
              ? keptBySwitches(asked)
              : asked?.staged?.held
                ? keptInFront(asked)
                : keptByEngines(asked, catalogue.get(nf)!.affinity),
        },
      ];
    },
  );
}
