import type { Infrastructure, Plan } from '@orrery/contract';
import type { InstanceGraph } from '../igraph/split.js';
import type { BoundEffort } from './bound.js';
import type { Bin, Hosts, Place } from './problem.js';
import type { PlacementState } from './state.js';

/** Where the instances of plans in force stand, the later ones first; by instance of the graph, `null` for new ones. */
export function runningPlaces(
  graph: InstanceGraph,
  plans: readonly (Plan | null)[],
  { servers }: Infrastructure,
): (Place | null)[] {
  const standing = plans.flatMap((plan) => plan?.instances ?? []);
  const running = new Map(standing.map((instance) => [instance.id, instance]));
  const bins = new Map(servers.map(({ id }, i) => [id, i]));
  return graph.instances.map(({ id, nf }) => {
    const instance = running.get(id);
    const bin = instance?.nf === nf ? bins.get(instance.server) : undefined;
    return instance && bin !== undefined ? { bin, core: instance.core } : null;
  });
}

/** Where instances may stand; `null`: anywhere. Only its server reaches a board, and only some servers offer containers. */
export function hostsOf(
  graph: InstanceGraph,
  { boards, servers }: Infrastructure,
  containerServers: readonly string[],
): (Hosts | null)[] {
  const those = (ids: readonly string[]) => new Set(servers.flatMap(({ id }, bin) => (ids.includes(id) ? [bin] : [])));
  const containers: Hosts = { bins: those(containerServers), lack: 'container runtime' };
  const beside = new Map(boards.map(({ id, server }): [string, Hosts] => [id, { bins: those([server]), lack: id }]));
  return graph.instances.map(({ driver, board }) => {
    if (board) return beside.get(board.board)!;
    return driver === 'container' ? containers : null;
  });
}

/** The graph's instances with their places. */
export function placedInstances(graph: InstanceGraph, state: PlacementState, bins: readonly Bin[]): Plan['instances'] {
  return graph.instances.map((instance, item) => {
    const { id, pgraph_node, pipeline_id, node_id, nf, ordinal, driver, board, load_bps } = instance;
    const bin = state.bin[item]!;
    return {
      id,
      pgraph_node,
      pipeline_id,
      node_id,
      nf,
      ordinal,
      driver,
      ...(board ? { board } : {}),
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
