import type { EngineAbility, Infrastructure, InstanceGraph, Plan } from '@orrery/contract';
import {
  type PlacedNode,
  placedNodes,
  placeGraph,
  type UnplacedGraph,
  type WorkNode,
  workNodes,
} from '../igraph/graph.js';
import type { BoundEffort } from './bound.js';
import type { Bin, Hosts, Place } from './problem.js';
import type { PlacementState } from './state.js';

/** Where the nodes of plans in force stand, the later ones first; by item, `null` for new ones. */
export function runningPlaces(
  graph: UnplacedGraph,
  plans: readonly (Plan | null)[],
  { servers }: Infrastructure,
): (Place | null)[] {
  const standing = plans.flatMap((plan) => (plan ? placedNodes(plan.graph) : []));
  const running = new Map(standing.map((node) => [node.id, node]));
  const bins = new Map(servers.map(({ id }, i) => [id, i]));
  return workNodes(graph).map((node) => {
    const there = running.get(node.id);
    const bin = there && isSameWork(there, node) ? bins.get(there.server) : undefined;
    return there && bin !== undefined ? { bin, core: there.core } : null;
  });
}

/** By server. */
export type Abilities = Readonly<Record<string, readonly EngineAbility[]>>;

/** Parts of the graph that no server's engine can run: each server with each missing ability. */
export function missingAbilities(
  graph: UnplacedGraph,
  { servers }: Pick<Infrastructure, 'servers'>,
  abilities: Abilities,
  planned: ReadonlySet<string> = new Set(),
): Plan['conflicts'] {
  const needed = new Set(workNodes(graph).flatMap((node) => abilityFor(node, planned) ?? []));
  return [...needed]
    .filter((ability) => !servers.some(({ id }) => abilities[id]?.includes(ability)))
    .flatMap((unit) =>
      servers.map(({ id }) => ({ constraint: 'engine-ability', needed: 1, available: 0, unit, where: id }) as const),
    );
}

/** What a node needs of the engine that runs it. `planned`: the chains with a schedule. */
function abilityFor(node: WorkNode, planned: ReadonlySet<string>): EngineAbility | null {
  if (node.kind !== 'nf') return node.kind;
  return planned.has(node.chain_id) && node.driver === 'engine' ? 'scheduler' : null;
}

function isSameWork(a: PlacedNode, b: WorkNode): boolean {
  return a.kind === b.kind && (a.kind !== 'nf' || b.kind !== 'nf' || a.nf === b.nf);
}

/** Where nodes may stand; `null`: anywhere. Only its server reaches a board, and only some servers offer containers. */
export function hostsOf(
  graph: UnplacedGraph,
  { boards, servers }: Infrastructure,
  containerServers: readonly string[],
  abilities: Abilities,
  planned: ReadonlySet<string> = new Set(),
): (Hosts | null)[] {
  const those = (ids: readonly string[]) => new Set(servers.flatMap(({ id }, bin) => (ids.includes(id) ? [bin] : [])));
  const containers: Hosts = { bins: those(containerServers), lack: 'container runtime' };
  const beside = new Map(boards.map(({ id, server }): [string, Hosts] => [id, { bins: those([server]), lack: id }]));
  const withAbility = (ability: EngineAbility): Hosts => ({
    bins: those(servers.flatMap(({ id }) => (abilities[id]?.includes(ability) ? [id] : []))),
    lack: ability,
  });
  return workNodes(graph).map((node) => {
    const ability = abilityFor(node, planned);
    if (ability) return withAbility(ability);
    if (node.kind !== 'nf') return null;
    if (node.board) return beside.get(node.board.board)!;
    return node.driver === 'container' ? containers : null;
  });
}

/** The graph with the places that the search found. */
export function placedGraph(graph: UnplacedGraph, state: PlacementState, bins: readonly Bin[]): InstanceGraph {
  const places = workNodes(graph).map((_, item) => {
    const bin = state.bin[item]!;
    return { server: bins[bin]!.id, core: state.core[item]!, core_share: state.share(item, bin) };
  });
  return placeGraph(graph, places);
}

/** Effort for a bound while a plan waits: some tens of milliseconds for any size. */
export function quickEffort(items: number): BoundEffort {
  return { exact: { steps: 20_000 }, spectral: { steps: Math.min(40, Math.floor(4e6 / items ** 3)) } };
}
