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

/** Where instances may stand; `null`: anywhere. Only some servers offer containers. */
export function hostsOf(
  graph: InstanceGraph,
  { servers }: Infrastructure,
  containerServers: readonly string[],
): (Hosts | null)[] {
  const offering = servers.flatMap(({ id }, bin) => (containerServers.includes(id) ? [bin] : []));
  const containers: Hosts = { bins: new Set(offering), lack: 'container runtime' };
  return graph.instances.map(({ driver }) => (driver === 'container' ? containers : null));
}

/**
 * The places with those of instances in slots, which only their board's server reaches: one that is new is bound to the
 * core of that server on which least runs.
 */
export function besideBoards(
  graph: InstanceGraph,
  running: readonly (Place | null)[],
  { boards, servers }: Infrastructure,
  base: Plan | null,
): (Place | null)[] {
  const server = new Map(boards.map((board) => [board.id, servers.findIndex(({ id }) => id === board.server)]));
  return graph.instances.map(({ board }, i) => {
    const bin = board && server.get(board.board);
    if (bin === undefined || bin < 0 || running[i]?.bin === bin) return running[i]!;
    return { bin, core: idlestCore(servers[bin]!, base) };
  });
}

function idlestCore({ id, cores }: Infrastructure['servers'][number], base: Plan | null): number {
  const use = new Array<number>(cores).fill(0);
  for (const { server, core, core_share } of base?.instances ?? [])
    if (server === id && core < cores) use[core]! += core_share;
  return use.indexOf(Math.min(...use));
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
