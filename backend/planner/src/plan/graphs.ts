import { type Plan, type PlannedChain, PlanOptions } from '@orrery/contract';
import type { AssignedImplementation, AssignedImplementations } from '../check/assigned-implementation.js';
import type { ClockOf } from '../check/clock.js';
import { askedSplit } from '../igraph/asked-split.js';
import { type BuiltGraph, chainGraph, joinedGraph } from '../igraph/build.js';
import { type ChainForm, drawnForm } from '../igraph/chain-form.js';
import { type UnableSwitches, withFrontSplits } from '../igraph/front-splits.js';
import { unplacedInstances } from '../igraph/graph.js';
import { chainPGraph, joinedPGraph, type PGraph, pgraphNodeId, pgraphOfChain } from '../igraph/pgraph.js';
import { splitReason } from '../igraph/split-reason.js';
import { withParallelSteps } from '../parallel/chain-steps.js';
import { NOTHING_KNOWN, type Recall } from '../recall.js';
import type { PlanInput } from './input.js';

type Input = Pick<PlanInput, 'chains' | 'descriptors' | 'options'>;

interface SplitChains {
  /** With the number of instances of each node. */
  readonly pgraph: Plan['pgraph'];
  readonly graph: BuiltGraph;
  /** By node of the policy graph, in their order. */
  readonly reasons: Plan['reasons'];
}

/** The policy graph of all chains, sized for cores of these clocks, and the instance graph into which it splits. */
export function sizedGraphs(
  input: Input,
  clockOf: ClockOf,
  implementations: AssignedImplementations = new Map(),
  recall: Recall = NOTHING_KNOWN,
  unableSwitches: UnableSwitches = () => [],
): SplitChains {
  const pgraph = policyGraph(input, clockOf, implementations, recall);
  const forms = formedChains(input, clockOf, pgraph, implementations, recall).map((form) =>
    withFrontSplits(form, input.descriptors, implementations, unableSwitches),
  );
  return splitChains(input, clockOf, pgraph, forms, implementations, recall);
}

/** The union of the chains, with the load and the cores of each node (E2 3.4.1 step 1). */
export function policyGraph(
  { chains, descriptors }: Input,
  clockOf: ClockOf,
  implementations: AssignedImplementations = new Map(),
  recall: Recall = NOTHING_KNOWN,
): PGraph {
  return joinedPGraph(
    chains.map((chain) => {
      const ghz = clockOf(chain.chain_id);
      const from = [recall.nameOf(chain), ghz, assignedIn(chain, implementations)];
      return [chain.chain_id, recall.of('pgraph', from, () => chainPGraph(chain, descriptors, ghz, implementations))];
    }),
  );
}

/** What each chain runs in which order. */
export function formedChains(
  { chains, descriptors, options }: Input,
  clockOf: ClockOf,
  pgraph: PGraph,
  implementations: AssignedImplementations,
  recall: Recall = NOTHING_KNOWN,
): ChainForm[] {
  const { parallelization: strategy, seed } = PlanOptions.parse(options ?? {});
  return chains.map((chain) => {
    const own = pgraphOfChain(pgraph, chain);
    const ghz = clockOf(chain.chain_id);
    const from = [recall.nameOf(chain), recall.nameOf(own), ghz, assignedIn(chain, implementations)];
    return recall.of('form', from, () => {
      const drawn = drawnForm(chain, own);
      if (chain.execution !== 'parallel') return drawn;
      return withParallelSteps(drawn, { descriptors, implementations, ghz, strategy, seed });
    });
  });
}

export function splitChains(
  { descriptors }: Input,
  clockOf: ClockOf,
  pgraph: PGraph,
  chainForms: readonly ChainForm[],
  implementations: AssignedImplementations,
  recall: Recall = NOTHING_KNOWN,
): SplitChains {
  const parts: [chain_id: string, part: PGraph][] = [];
  const reasons: Plan['reasons'] = [];
  const graph = joinedGraph(chainForms, (form) => {
    const { chain } = form;
    const drawn = pgraphOfChain(pgraph, chain);
    const ghz = clockOf(chain.chain_id);
    const from = [recall.nameOf(form), recall.nameOf(drawn), ghz, assignedIn(chain, implementations)];
    const part = recall.of('split', from, () => splitChain(form, drawn, descriptors, implementations, ghz));
    parts.push([chain.chain_id, part.pgraph]);
    for (const reason of part.reasons) reasons.push(reason);
    return part.graph;
  });
  return { pgraph: joinedPGraph(parts), graph, reasons };
}

function splitChain(
  form: ChainForm,
  drawn: PGraph,
  descriptors: Input['descriptors'],
  implementations: AssignedImplementations,
  ghz: number,
): SplitChains {
  const graph = chainGraph(form, descriptors, implementations, ghz);
  const pgraph = withCounts(drawn, graph);
  const unable = new Map(form.nodes.flatMap((node) => (node.kind === 'split' ? [[node.node_id, node.unable]] : [])));
  const reasons = pgraph.nodes.map((node) =>
    splitReason(node, graph.partitions.get(node.id)!, unable.get(node.node_id), askedSplit(form.chain, node.node_id)),
  );
  return { graph, pgraph, reasons };
}

function withCounts(pgraph: PGraph, graph: Pick<BuiltGraph, 'nodes' | 'edges'>): PGraph {
  const counts = new Map<string, number>();
  for (const { pgraph_node } of unplacedInstances(graph)) counts.set(pgraph_node, (counts.get(pgraph_node) ?? 0) + 1);
  return { ...pgraph, nodes: pgraph.nodes.map((node) => ({ ...node, instances: counts.get(node.id)! })) };
}

/** The chain's NFs that are not left to the default, with what they run as. */
export function assignedIn(
  { definition }: PlannedChain,
  implementations: AssignedImplementations,
): readonly (readonly [node_id: string, AssignedImplementation])[] {
  if (implementations.size === 0) return [];
  return definition.nodes.flatMap(({ id }) => {
    const assigned = implementations.get(pgraphNodeId(definition.name, id));
    return assigned ? [[id, assigned] as const] : [];
  });
}
