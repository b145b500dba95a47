import { type Plan, PlanOptions } from '@orrery/contract';
import type { AssignedImplementations } from '../check/assigned-implementation.js';
import { slowestGhz } from '../check/clock.js';
import { type BuiltGraph, buildInstanceGraph } from '../igraph/build.js';
import { type ChainForm, drawnForm } from '../igraph/chain-form.js';
import { unplacedInstances } from '../igraph/graph.js';
import { buildPGraph, type PGraph } from '../igraph/pgraph.js';
import { withParallelSteps } from '../parallel/chain-steps.js';
import type { PlanInput } from './input.js';

type Input = Pick<PlanInput, 'chains' | 'descriptors' | 'infrastructure' | 'options'>;

interface SplitChains {
  /** With the number of instances of each node. */
  readonly pgraph: Plan['pgraph'];
  readonly graph: BuiltGraph;
}

/** The policy graph of all chains, sized for the slowest server, and the instance graph into which it splits. */
export function sizedGraphs(input: Input, implementations: AssignedImplementations = new Map()): SplitChains {
  const pgraph = buildPGraph(input.chains, input.descriptors, slowestGhz(input.infrastructure), implementations);
  return splitChains(input, pgraph, formedChains(input, pgraph, implementations), implementations);
}

/** What each chain runs in which order. */
export function formedChains(
  { chains, descriptors, infrastructure, options }: Input,
  pgraph: PGraph,
  implementations: AssignedImplementations,
): ChainForm[] {
  const ghz = slowestGhz(infrastructure);
  const { parallelization: strategy, seed } = PlanOptions.parse(options ?? {});
  return chains.map((chain) => {
    const drawn = drawnForm(chain, pgraph);
    if (chain.execution !== 'parallel') return drawn;
    return withParallelSteps(drawn, { descriptors, implementations, ghz, strategy, seed });
  });
}

export function splitChains(
  { descriptors, infrastructure }: Input,
  pgraph: PGraph,
  chainForms: readonly ChainForm[],
  implementations: AssignedImplementations,
): SplitChains {
  const graph = buildInstanceGraph(chainForms, descriptors, implementations, slowestGhz(infrastructure));
  const counts = new Map<string, number>();
  for (const { pgraph_node } of unplacedInstances(graph)) counts.set(pgraph_node, (counts.get(pgraph_node) ?? 0) + 1);
  const nodes = pgraph.nodes.map((node) => ({ ...node, instances: counts.get(node.id)! }));
  return { pgraph: { ...pgraph, nodes }, graph };
}
