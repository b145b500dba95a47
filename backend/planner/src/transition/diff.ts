import { nfInstances, type Plan } from '@orrery/contract';
import { sameContent } from './same-spec.js';

/** Instances by what happens to them; one that keeps running with changed outputs counts as reconfigured. */
export function diffOf(base: Plan | null, graph: Plan['graph'], nodes: Plan['nodes']): Plan['diff'] {
  const before = new Map(nfInstances(base?.graph).map(({ id, server }) => [id, server]));
  const instances = nfInstances(graph);
  const now = new Set(instances.map(({ id }) => id));
  const diff: Plan['diff'] = { added: [], removed: [], moved: [], reconfigured: [], kept: [] };
  const specOf = (plan: Plan['nodes'] | undefined, server: string, id: string) =>
    plan?.[server]?.instances.find((instance) => instance.id === id);
  for (const { id, server } of instances) {
    const was = before.get(id);
    if (was === undefined) diff.added.push(id);
    else if (was !== server) diff.moved.push(id);
    else if (sameContent(specOf(base?.nodes, server, id), specOf(nodes, server, id))) diff.kept.push(id);
    else diff.reconfigured.push(id);
  }
  for (const id of before.keys()) if (!now.has(id)) diff.removed.push(id);
  return diff;
}
