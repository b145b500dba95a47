import { type InstanceGraph, isAtSwitch } from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { chainsById } from '../check/chains-by-id.js';
import { plannedChains } from '../check/planned-chains.js';
import { placedNodes, type UnplacedGraph, type WorkNode, workNodes } from '../igraph/graph.js';
import { binsOf, type Place, type PlacementProblem } from '../placement/problem.js';
import { search } from '../placement/search.js';
import { PlacementState } from '../placement/state.js';
import { instanceProblem } from '../plan/instance-problem.js';
import type { OfferedInput } from '../plan/offered.js';
import { seededRandom } from '../random.js';
import type { PlaceTimes } from '../requests/live-network.js';
import { costOf } from '../slo/instance-cost.js';
import { BoundedWays, lateWays, type WayBound } from './bounded-ways.js';
import type { Clocks } from './measured-graph.js';
import { Relief, withPlacesKept } from './relief.js';

/** A running instance, and the server on which it would be better placed. */
export interface Move {
  readonly instance: string;
  readonly server: string;
}

/** Searches from where the last one ended, until one finds nothing: then what it found is kept when it runs. */
const MOST_SEARCHES = 6;
/** Traffic of the search that counts as none, as a part of what crosses. */
const NEGLIGIBLE = 1e-6;

interface Limits {
  readonly most: number;
  readonly held: readonly Move[];
  readonly ways: readonly WayBound[];
  readonly times: PlaceTimes;
  /** Moves that were tried in vain. */
  readonly vain: readonly Move[];
}

export interface BetterPlaces {
  readonly moves: readonly Move[];
  /** Cores that have more to do than plans hand out then, and instances that may not stand where they do. */
  readonly faults: number;
}

/**
 * Places for what runs by which fewer cores have more to do than plans hand out, or as many, and fewer of the ways take longer than
 * they may, or as many, and less traffic of these loads crosses between servers; with as few moves as that takes and at most `most`;
 * or the moves that were held so far, where those are as good. No moves: none are better. Nothing makes a core, a link or a memory
 * that has less than it needs any worse, and what fits nowhere stays. `graph`: as planned, `measured`: with the loads.
 */
export function betterPlaces(
  input: OfferedInput,
  graph: InstanceGraph,
  measured: InstanceGraph,
  hz: Clocks,
  { most, held, ways, times, vain }: Limits,
): BetterPlaces {
  const unplaced = asWork(input, graph, measured, hz);
  const bins = binsOf(input.infrastructure);
  const index = new Map(bins.map(({ id }, bin) => [id, bin]));
  const running = new Map(placedNodes(graph).map((node) => [node.id, node]));
  const work = workNodes(unplaced);
  const pinned = work.flatMap(({ id }): Place[] => {
    const { server, core } = running.get(id)!;
    const bin = index.get(server);
    return bin === undefined ? [] : [{ bin, core }];
  });
  if (pinned.length < work.length) return { moves: [], faults: 0 };
  const items = new Map(work.map(({ id }, item) => [id, item]));
  const asked = withScheduledHeld(
    instanceProblem(input, bins, unplaced, NO_TABLE),
    work,
    pinned,
    plannedChains(input.chains),
  );
  const problem = withoutMoves(asked, vain, items, index);
  const { budget } = input;
  const isExpired = budget.expired ?? (() => false);
  const seed = input.options?.seed ?? 1;
  const stateOf = (places: readonly Place[]) => PlacementState.of(withPlacesKept(problem, places), pinned, places);
  const placesIn = (state: PlacementState) => work.map((_, item) => state.placeOf(item)!);
  const movable = [...work.keys()].filter((item) => {
    const hosts = problem.items[item]!.hosts?.bins ?? bins.keys();
    return [...hosts].some((bin) => bin !== pinned[item]!.bin);
  });
  const bounds = new BoundedWays(
    ways,
    times,
    items,
    pinned,
    bins.map(({ id }) => id),
  );
  const now = new Map(placedNodes(measured).map((node) => [node.id, node]));
  const relief = new Relief(work.map(({ id }) => now.get(id)!.core_share * (hz.get(now.get(id)!.server) ?? 0)));
  const start = stateOf(pinned);
  const [cutNow, faultsNow, lateNow] = [start.cut, relief.faults(start), lateWays(ways, times)];
  const relieved = stateOf(pinned);
  relief.relieve(relieved, new Set(movable), most, bounds, isExpired);
  const faults = relief.faults(relieved);
  const searched = stateOf(placesIn(relieved));
  for (let i = 0; i < MOST_SEARCHES; i++) {
    const before = searched.cut;
    search(searched, movable, budget, seededRandom(seed));
    if (searched.cut >= before * (1 - NEGLIGIBLE)) break;
  }
  bounds.mend(searched, new Set(movable), isExpired);
  const isSound =
    withFewMoves(searched, pinned, most, bounds) &&
    bounds.late(searched) <= lateNow &&
    relief.faults(searched) <= faults;
  const state = isSound ? searched : relieved;
  const margin = NEGLIGIBLE * Math.max(cutNow, 1);
  const late = bounds.late(state);
  if (relief.faults(state) >= faultsNow && late >= lateNow && state.cut >= cutNow - margin)
    return { moves: [], faults };
  const alternative = held.length <= most ? placesOf(held, items, start, index) : null;
  const isAsGood =
    alternative &&
    relief.faults(alternative) <= relief.faults(state) &&
    alternative.cut <= state.cut + margin &&
    bounds.late(alternative) <= late;
  const chosen = isAsGood ? alternative : state;
  const moves = work.flatMap(({ id }, item) => {
    const bin = chosen.bin[item]!;
    return bin === pinned[item]!.bin ? [] : [{ instance: id, server: bins[bin]!.id }];
  });
  return { moves, faults: relief.faults(chosen) };
}

/** The problem in which none of these moves is open. */
function withoutMoves(
  problem: PlacementProblem,
  moves: readonly Move[],
  index: ReadonlyMap<string, number>,
  binIndex: ReadonlyMap<string, number>,
): PlacementProblem {
  if (moves.length === 0) return problem;
  const closed = new Map<number, Set<number>>();
  for (const { instance, server } of moves) {
    const item = index.get(instance)!;
    closed.set(item, (closed.get(item) ?? new Set()).add(binIndex.get(server)!));
  }
  const items = problem.items.map((item, i) => {
    const servers = closed.get(i) ?? new Set();
    if (servers.size === 0) return item;
    const open = item.hosts?.bins ?? new Set(problem.bins.keys());
    const bins = new Set([...open].filter((bin) => !servers.has(bin)));
    return { ...item, hosts: { lack: '', ...item.hosts, bins } };
  });
  return { ...problem, items };
}

/** What a plan needs of switch tables, only it knows. */
const NO_TABLE = { fixed: 0, available: Number.MAX_SAFE_INTEGER, where: '' };

/** What runs, as something to place: it needs what was planned for it, or what it takes, if that is more. */
function asWork(
  { chains, descriptors, infrastructure }: OfferedInput,
  graph: InstanceGraph,
  measured: InstanceGraph,
  hz: Clocks,
): UnplacedGraph {
  const catalogue = indexDescriptors(descriptors);
  const definitions = chainsById(chains);
  const now = new Map(placedNodes(measured).map((node) => [node.id, node]));
  const nodes = graph.nodes.flatMap((node): UnplacedGraph['nodes'][number][] => {
    if (node.kind === 'exit') return [node];
    if (node.kind === 'queue') return [];
    const { server, core: _core, core_share, ...named } = node;
    const share = Math.max(core_share, now.get(node.id)!.core_share);
    const definition = definitions.get(node.chain_id)?.definition;
    const descriptor = node.kind === 'nf' ? catalogue.get(node.nf) : undefined;
    const memory_bytes =
      node.kind === 'nf' && definition && descriptor && !isAtSwitch(node)
        ? costOf(node, descriptor, infrastructure, definition).memory_bytes
        : 0;
    const cycles_per_second = share * (hz.get(server) ?? 0);
    return [
      { ...named, load_bps: now.get(node.id)!.load_bps, load_pps: 0, cycles_per_second, memory_bytes } as WorkNode,
    ];
  });
  const known = new Set(nodes.map(({ id }) => id));
  const edges = measured.edges.filter(({ from, to }) => known.has(to) && (from === null || known.has(from)));
  return { nodes, edges };
}

/** Tasks of a planned schedule stay together where they are. */
function withScheduledHeld(
  problem: PlacementProblem,
  work: readonly WorkNode[],
  pinned: readonly (Place | null)[],
  scheduled: ReadonlySet<string>,
): PlacementProblem {
  if (scheduled.size === 0) return problem;
  const items = problem.items.map((item, i) => {
    const pin = pinned[i];
    if (!pin || !scheduled.has(work[i]!.chain_id)) return item;
    return { ...item, hosts: { bins: new Set([pin.bin]), lack: 'the other tasks of its schedule' } };
  });
  return { ...problem, items };
}

/**
 * Takes back moves that save nothing, then those that save least until no more than `most` are left, none by which more ways would
 * take too long. False: so few would not do.
 */
function withFewMoves(
  state: PlacementState,
  pinned: readonly (Place | null)[],
  most: number,
  bounds: BoundedWays,
): boolean {
  const moved = () => [...pinned.keys()].filter((item) => state.bin[item] !== pinned[item]!.bin);
  const cost = (item: number) => state.cutIf(item, pinned[item]!.bin) - state.cut;
  for (let left = moved(); left.length > 0; left = moved()) {
    const isOver = left.length > most;
    const negligible = NEGLIGIBLE * Math.max(state.cut, 1);
    const back = left
      .toSorted((a, b) => cost(a) - cost(b) || a - b)
      .filter((item) => isOver || cost(item) <= negligible)
      .find((item) => bounds.tryMove(state, item, pinned[item]!.bin));
    if (back === undefined) return !isOver;
  }
  return true;
}

/** The state with these moves; null: they are none, no longer apply, or do not fit. */
function placesOf(
  moves: readonly Move[],
  items: ReadonlyMap<string, number>,
  start: PlacementState,
  bins: ReadonlyMap<string, number>,
): PlacementState | null {
  if (moves.length === 0) return null;
  for (const { instance, server } of moves) {
    const [item, bin] = [items.get(instance), bins.get(server)];
    if (item === undefined || bin === undefined) return null;
    if (start.bin[item] !== bin && !start.tryMove(item, bin)) return null;
  }
  return start;
}
