import { type InstanceSpec, nfInstances, type Plan } from '@orrery/contract';
import { movedJoints } from './joints.js';
import { sameContent } from './same-spec.js';
import { predecessorsByMove } from './succession.js';

/**
 * Instances by what happens to them; one that moves is told by its new id, and one that keeps running with changed outputs
 * counts as reconfigured. Mirrors, merges and splits are told only where they move.
 */
export function diffOf(
  base: Plan | null,
  { graph, nodes, fabric, on_switches = [] }: Pick<Plan, 'graph' | 'nodes' | 'fabric' | 'on_switches'>,
): Plan['diff'] {
  const before = new Map(nfInstances(base?.graph).map(({ id, server }) => [id, server]));
  const instances = nfInstances(graph);
  const now = new Set(instances.map(({ id }) => id));
  const moved = predecessorsByMove(base, [...now]);
  const left = new Set(moved.values());
  const diff: Plan['diff'] = { added: [], removed: [], moved: [], reconfigured: [], kept: [] };
  const was = specsIn(base?.nodes ?? {});
  const is = specsIn(nodes);
  for (const { id, server } of instances) {
    const ran = before.get(id);
    if (ran === undefined && !moved.has(id)) diff.added.push(id);
    else if (ran !== server) diff.moved.push(id);
    else if (sameContent(was.get(`${server}/${id}`), is.get(`${server}/${id}`))) diff.kept.push(id);
    else diff.reconfigured.push(id);
  }
  diff.moved.push(...movedJoints(base, graph));
  for (const id of before.keys()) if (!now.has(id) && !left.has(id)) diff.removed.push(id);
  const ran = new Map(base?.on_switches?.map(({ id, pgraph_node }) => [id, pgraph_node]));
  for (const { id, pgraph_node } of on_switches) {
    if (!ran.delete(id)) diff.added.push(id);
    else if (sameContent(programIn(base!.fabric, pgraph_node), programIn(fabric, pgraph_node))) diff.kept.push(id);
    else diff.reconfigured.push(id);
  }
  diff.removed.push(...ran.keys());
  return diff;
}

/** What switches run for an NF. */
function programIn({ rules }: Plan['fabric'], nf: string) {
  const all = rules.flatMap((rule) => (rule.kind === 'classify' ? (rule.nfs ?? []) : []));
  return all.find((one) => one.nf === nf)?.runs;
}

/** By server and instance. */
function specsIn(nodes: Plan['nodes']): ReadonlyMap<string, InstanceSpec> {
  return new Map(
    Object.entries(nodes).flatMap(([server, { instances }]) =>
      instances.map((it) => [`${server}/${it.id}`, it] as const),
    ),
  );
}
