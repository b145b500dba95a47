import type { Plan } from '@orrery/contract';
import { buildPGraph } from '../igraph/pgraph.js';
import { buildIGraph, type InstanceGraph } from '../igraph/split.js';
import { slowestGhz } from '../pipeline/clock.js';
import type { Forms } from '../pipeline/forms.js';
import type { PlanInput } from './input.js';

/** The PGraph of all pipelines, sized for the slowest server, and the instances into which it splits. */
export function sizedGraphs(
  { pipelines, descriptors, infrastructure }: Pick<PlanInput, 'pipelines' | 'descriptors' | 'infrastructure'>,
  forms: Forms = new Map(),
): { pgraph: Plan['pgraph']; graph: InstanceGraph } {
  const pgraph = buildPGraph(pipelines, descriptors, slowestGhz(infrastructure), forms);
  const graph = buildIGraph(pgraph, pipelines, descriptors, forms);
  const counts = new Map<string, number>();
  for (const { pgraph_node } of graph.instances) counts.set(pgraph_node, (counts.get(pgraph_node) ?? 0) + 1);
  pgraph.nodes = pgraph.nodes.map((node) => ({ ...node, instances: counts.get(node.id)! }));
  return { pgraph, graph };
}
