import {
  type EngineAbility,
  type Infrastructure,
  type InstanceGraph,
  isAtSwitch,
  nfInstances,
  type Plan,
} from '@orrery/contract';
import type { Budget } from '../budget.js';
import {
  type PlacedNode,
  placedNodes,
  placeGraph,
  type UnplacedGraph,
  unplacedInstances,
  type WorkNode,
  workNodes,
} from '../igraph/graph.js';
import { withParts } from '../igraph/parts.js';
import { NOTHING_KNOWN, type Recall } from '../recall.js';
import type { BoundBudget } from './bound.js';
import type { Hosts, Place, PlacementProblem } from './problem.js';

/** Where the nodes of the plan in force stand; by item, `null` for new ones. */
export function runningPlaces(graph: UnplacedGraph, plan: Plan | null, { servers }: Infrastructure): (Place | null)[] {
  const standing = plan ? placedNodes(plan.graph) : [];
  const running = new Map(standing.map((node) => [node.id, node]));
  const bins = new Map(servers.map(({ id }, i) => [id, i]));
  return workNodes(graph).map((node) => {
    const there = running.get(node.id);
    const bin = there && isSameWork(there, node) ? bins.get(there.server) : undefined;
    return there && bin !== undefined ? { bin, core: there.core } : null;
  });
}

/**
 * Where an instance has a staged split in front, both stay where the instance runs, by item: flows in progress stay with it, and the
 * switches send them there already. `null`: anything else.
 */
export function stagedHosts(graph: UnplacedGraph, plan: Plan | null, { servers }: Infrastructure): (Hosts | null)[] {
  const name = (chain: string, node: string, ordinal: number) => `${chain} ${node} ${ordinal}`;
  const staged = new Set(
    graph.nodes.flatMap((node) =>
      node.kind === 'split' && node.in_front_of !== undefined
        ? [name(node.chain_id, node.node_id, node.in_front_of)]
        : [],
    ),
  );
  const running = new Map(
    nfInstances(plan?.graph).map((it) => [name(it.chain_id, it.node_id, it.ordinal), it] as const),
  );
  return workNodes(graph).map((node) => {
    const ordinal = node.kind === 'nf' ? node.ordinal : node.kind === 'split' ? node.in_front_of : undefined;
    if (ordinal === undefined || !('node_id' in node)) return null;
    const of = name(node.chain_id, node.node_id, ordinal);
    const there = staged.has(of) ? running.get(of) : undefined;
    const bin = servers.findIndex(({ id }) => id === there?.server);
    return there && bin >= 0 ? { bins: new Set([bin]), lack: `flows in progress at ${there.id}` } : null;
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
  const needed = new Set<EngineAbility>();
  for (const node of workNodes(graph)) for (const ability of abilitiesFor(node, planned)) needed.add(ability);
  return [...needed]
    .filter((ability) => !servers.some(({ id }) => abilities[id]?.includes(ability)))
    .flatMap((unit) =>
      servers.map(({ id }) => ({ constraint: 'engine-ability', needed: 1, available: 0, unit, where: id }) as const),
    );
}

/** What a node needs of the engine that runs it. `planned`: the chains with a schedule. */
function abilitiesFor(node: WorkNode, planned: ReadonlySet<string>): EngineAbility[] {
  if (node.kind === 'split') return [];
  if (node.kind !== 'nf') return [node.kind];
  const scheduled = planned.has(node.chain_id) && node.driver === 'engine';
  return [...(scheduled ? (['scheduler'] as const) : []), ...(node.reads_streams ? (['bytestream'] as const) : [])];
}

function isSameWork(a: PlacedNode, b: WorkNode): boolean {
  return a.kind === b.kind && (a.kind !== 'nf' || b.kind !== 'nf' || a.nf === b.nf);
}

/** What servers offer beside their engines: see `PlanInput`. */
interface Offers {
  readonly container_servers: readonly string[];
  readonly program_servers?: readonly string[];
  readonly legacy_nfs?: Readonly<Record<string, readonly string[]>>;
}

/** Where nodes may stand; `null`: anywhere. Only its server reaches a board, and only some servers offer containers. */
export function hostsOf(
  graph: UnplacedGraph,
  { boards, servers }: Infrastructure,
  { container_servers, program_servers = container_servers, legacy_nfs = {} }: Offers,
  abilities: Abilities,
  /** NFs that are unmodified programs, and those whose containers run an image. */
  { programs, images = new Set() }: { programs: ReadonlySet<string>; images?: ReadonlySet<string> },
  planned: ReadonlySet<string> = new Set(),
): (Hosts | null)[] {
  const those = (ids: readonly string[]) => new Set(servers.flatMap(({ id }, bin) => (ids.includes(id) ? [bin] : [])));
  const containers: Hosts = { bins: those(container_servers), lack: 'container runtime' };
  const beside = new Map(boards.map(({ id, server }): [string, Hosts] => [id, { bins: those([server]), lack: id }]));
  const able = new Map<string, Hosts>();
  const withAbilities = (needed: readonly EngineAbility[]): Hosts => {
    const lack = needed.join(', ');
    const known = able.get(lack);
    if (known) return known;
    const has = (id: string) => needed.every((ability) => abilities[id]?.includes(ability));
    const hosts = { bins: those(servers.flatMap(({ id }) => (has(id) ? [id] : []))), lack };
    able.set(lack, hosts);
    return hosts;
  };
  const ids = servers.map(({ id }) => id);
  const runs = (id: string, nf: string) => legacy_nfs[id]?.includes(nf) ?? true;
  const contained = (nf: string): Hosts => {
    const able = container_servers.filter((id) => (images.has(nf) || program_servers.includes(id)) && runs(id, nf));
    const lack = images.has(nf)
      ? `permission or image for ${nf}`
      : `container runtime, permission and programs for ${nf}`;
    return { bins: those(able), lack: container_servers.length === 0 ? containers.lack : lack };
  };
  const legacy = (nf: string): Hosts | null => {
    const able = ids.filter((id) => runs(id, nf));
    return able.length === ids.length ? null : { bins: those(able), lack: `permission and programs for ${nf}` };
  };
  return workNodes(graph).map((node) => {
    const needed = abilitiesFor(node, planned);
    if (needed.length > 0) return withAbilities(needed);
    if (node.kind !== 'nf') return null;
    if (node.board) return beside.get(node.board.board)!;
    if (node.driver === 'process') return legacy(node.nf);
    if (node.driver !== 'container') return null;
    return programs.has(node.nf) || images.has(node.nf) ? contained(node.nf) : containers;
  });
}

/** Servers that items may not stand on, with why. Of closed ones, that is so for what does not run there. */
interface Shut {
  readonly exclusions: ReadonlyMap<string, string>;
  readonly closed: ReadonlyMap<string, string>;
}

/** The same, without servers that the plan must not use; `running` by item. */
export function outside(
  hosts: readonly (Hosts | null)[],
  { servers }: Pick<Infrastructure, 'servers'>,
  { exclusions, closed }: Shut,
  running: readonly (Place | null)[],
): (Hosts | null)[] {
  if (exclusions.size + closed.size === 0) return [...hosts];
  const excluded = new Map(
    servers.flatMap(({ id }, bin) => {
      const why = exclusions.get(id) ?? closed.get(id);
      return why === undefined ? [] : [[bin, why] as const];
    }),
  );
  const all = servers.map((_, bin) => bin);
  const known = new Map<number | undefined, Map<Hosts | null, Hosts>>();
  return hosts.map((those, item) => {
    const bin = running[item]?.bin;
    const stays = bin !== undefined && closed.has(servers[bin]!.id) ? bin : undefined;
    const alike = known.get(stays) ?? new Map<Hosts | null, Hosts>();
    known.set(stays, alike);
    const shut = stays === undefined ? excluded : new Map([...excluded].filter(([id]) => id !== stays));
    const made = alike.get(those) ?? {
      bins: new Set([...(those?.bins ?? all)].filter((id) => !shut.has(id))),
      lack: those?.lack ?? '',
      excluded: shut,
    };
    alike.set(those, made);
    return made;
  });
}

/** The same, with running instances that are to move restricted to their new server, where they may stand there. */
export function movingTo(
  hosts: readonly (Hosts | null)[],
  graph: UnplacedGraph,
  { servers }: Pick<Infrastructure, 'servers'>,
  moves: readonly { readonly instance: string; readonly server: string }[],
): (Hosts | null)[] {
  if (moves.length === 0) return [...hosts];
  const bins = new Map(servers.map(({ id }, bin) => [id, bin]));
  const to = new Map(moves.map(({ instance, server }) => [instance, bins.get(server)]));
  return workNodes(graph).map(({ id }, item) => {
    const those = hosts[item] ?? null;
    const bin = to.get(id);
    if (bin === undefined || (those && !those.bins.has(bin))) return those;
    return { ...those, bins: new Set([bin]), lack: 'the request that it runs there' };
  });
}

/** The graph with the places that the search found, by item. */
export function placedGraph(
  graph: UnplacedGraph,
  { bins }: Pick<PlacementProblem, 'bins'>,
  places: readonly Place[],
  { boards }: Pick<Infrastructure, 'boards'>,
  recall: Recall = NOTHING_KNOWN,
): InstanceGraph {
  let item = 0;
  const drivenBy = new Map(boards.map(({ id, server }) => [id, server]));
  return withParts<UnplacedGraph, InstanceGraph>(graph, (part) => {
    const work = workNodes(part);
    const own = places.slice(item, item + work.length);
    item += work.length;
    const drivers = unplacedInstances(part).flatMap((node) =>
      isAtSwitch(node) ? drivenBy.get(node.board!.board)! : [],
    );
    return recall.of('placed', [recall.nameOf(part), own.flatMap(({ bin, core }) => [bin, core]), drivers], () => {
      const placed = own.map(({ bin, core }, i) => {
        const { id: server, hz } = bins[bin]!;
        return { server, core, core_share: work[i]!.cycles_per_second / hz };
      });
      return placeGraph(part, placed, drivenBy);
    });
  });
}

/**
 * Budget of a bound while a plan waits: some tens of milliseconds for any size, less where most of it runs already. The
 * certificate of a plan has more time.
 */
export function quickBound(items: number, running: number, { expired }: Pick<Budget, 'expired'> = {}): BoundBudget {
  const spectral_steps = running > items / 2 ? 0 : Math.min(40, Math.floor(4e6 / items ** 3));
  return { steps: 20_000, spectral_steps, expired };
}
