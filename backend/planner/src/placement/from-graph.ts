import type { Infrastructure, Plan } from '@orrery/contract';
import type { InstanceGraph } from '../igraph/split.js';
import type { BoundEffort } from './bound.js';
import type { Bin, Place } from './problem.js';
import type { PlacementState } from './state.js';

/** Where the instances of the running plan stand, by instance of the graph; `null` for new ones. */
export function runningPlaces(graph: InstanceGraph, base: Plan | null, { servers }: Infrastructure): (Place | null)[] {
  const running = new Map(base?.instances.map((instance) => [instance.id, instance]));
  const bins = new Map(servers.map(({ id }, i) => [id, i]));
  return graph.instances.map(({ id, nf }) => {
    const instance = running.get(id);
    const bin = instance?.nf === nf ? bins.get(instance.server) : undefined;
    return instance && bin !== undefined ? { bin, core: instance.core } : null;
  });
}

/** The graph's instances with their places. */
export function placedInstances(graph: InstanceGraph, state: PlacementState, bins: readonly Bin[]): Plan['instances'] {
  return graph.instances.map((instance, item) => {
    const { id, pgraph_node, pipeline_id, node_id, nf, ordinal, driver, load_bps } = instance;
    const bin = state.bin[item]!;
    return {
      id,
      pgraph_node,
      pipeline_id,
      node_id,
      nf,
      ordinal,
      driver,
      server: bins[bin]!.id,
      core: state.core[item]!,
      load_bps,
      core_share: state.share(item, bin),
    };
  });
}

/** Work in a bound that a plan may wait for: some tens of milliseconds whatever the size. */
export function quickEffort(items: number): BoundEffort {
  return { exact: { steps: 20_000 }, spectral: { steps: Math.min(40, Math.floor(4e6 / items ** 3)) } };
}
