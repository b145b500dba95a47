import type { Infrastructure, Plan } from '@orrery/contract';
import { type UnplacedGraph, type WorkNode, workNodes } from '../igraph/graph.js';
import { CORE_BUDGET } from '../igraph/sizing.js';

export type Constraint = Plan['conflicts'][number];

/** Servers on which alone an item may stand. */
export interface Hosts {
  /** By index. */
  readonly bins: ReadonlySet<number>;
  /** What all others lack, as the unit of a constraint. */
  readonly lack: string;
  /** Those that the plan must not use, with why, whatever they have. */
  readonly excluded?: ReadonlyMap<number, string>;
}

/** Something to place: an instance with its needs, independent of where it stands. */
export interface Item {
  readonly id: string;
  readonly cycles_per_second: number;
  readonly memory_bytes: number;
  /** Traffic with hosts and slots at switches, which crosses the server's link wherever the instance stands. */
  readonly outside_in_bps: number;
  readonly outside_out_bps: number;
  /** Absent: any server. */
  readonly hosts?: Hosts;
  /** Items of the same name have a core each, but for those that share one already. Absent: any core. */
  readonly apart?: string;
}

/** Directed traffic between two items, by index. */
export interface Flow {
  readonly from: number;
  readonly to: number;
  readonly rate_bps: number;
}

export interface Bin {
  readonly id: string;
  readonly cores: number;
  readonly hz: number;
  readonly memory_bytes: number;
  /** In each direction. */
  readonly link_bps: number;
  /** What sets `link_bps`. */
  readonly link_constraint: 'nic-bandwidth' | 'link-bandwidth';
  /** By core: the part of it that may be used by what is bound there, where that is more than plans hand out. */
  readonly kept?: readonly number[];
}

export interface PlacementProblem {
  readonly items: readonly Item[];
  readonly flows: readonly Flow[];
  readonly bins: readonly Bin[];
  /** Entries that the fabric needs before any hop between servers, and all that it has. */
  readonly table: { readonly fixed: number; readonly available: number; readonly where: string };
}

/** A core of a server, by index. */
export interface Place {
  readonly bin: number;
  readonly core: number;
}

const KNOWN_BINS = new WeakMap<Infrastructure, readonly Bin[]>();

/**
 * Servers with what their first NIC and its link to a switch can carry; without a link, or at a switch with a program of its
 * own, they carry nothing. Made once for each infrastructure.
 */
export function binsOf(infrastructure: Infrastructure): readonly Bin[] {
  const known = KNOWN_BINS.get(infrastructure);
  if (known) return known;
  const bins = foundBins(infrastructure);
  KNOWN_BINS.set(infrastructure, bins);
  return bins;
}

function foundBins(infrastructure: Infrastructure): Bin[] {
  const ofFabric = infrastructure.switches.filter(({ program }) => program === undefined);
  const switches = new Set(ofFabric.map(({ id }) => id));
  return infrastructure.servers.map(({ id, cores, ghz, memory_bytes, nics }) => {
    const nic = nics[0]!;
    const links = infrastructure.links.filter(
      ({ a, b }) =>
        (a.node === id && a.port === nic.name && switches.has(b.node)) ||
        (b.node === id && b.port === nic.name && switches.has(a.node)),
    );
    const link = Math.max(0, ...links.map(({ bandwidth_bps }) => bandwidth_bps));
    const nicBinds = nic.bandwidth_bps <= link;
    return {
      id,
      cores,
      hz: ghz * 1e9,
      memory_bytes,
      link_bps: nicBinds ? nic.bandwidth_bps : link,
      link_constraint: nicBinds ? 'nic-bandwidth' : 'link-bandwidth',
    };
  });
}

/** The placement problem of an instance graph. Without `hosts` and `apart`, by item, each may stand anywhere. */
export function problemOf(
  graph: UnplacedGraph,
  bins: readonly Bin[],
  table: PlacementProblem['table'],
  hosts: readonly (Hosts | null)[] = [],
  apart: readonly (string | null)[] = [],
): PlacementProblem {
  const work = workNodes(graph);
  const index = new Map(work.map(({ id }, i) => [id, i]));
  const outsideIn = work.map(() => 0);
  const outsideOut = work.map(() => 0);
  const flows: Flow[] = [];
  for (const edge of graph.edges) {
    const from = edge.from === null ? undefined : index.get(edge.from);
    const to = index.get(edge.to);
    if (from === undefined && to === undefined) continue;
    if (from === undefined) outsideIn[to!]! += edge.rate_bps;
    else if (to === undefined) outsideOut[from]! += edge.rate_bps;
    else flows.push({ from, to, rate_bps: edge.rate_bps });
  }
  const slowest = Math.min(...bins.map(({ hz }) => hz));
  const items = work.map((node, i) => ({
    id: node.id,
    cycles_per_second: bookedCycles(node, slowest),
    memory_bytes: node.memory_bytes,
    outside_in_bps: outsideIn[i]!,
    outside_out_bps: outsideOut[i]!,
    ...(hosts[i] ? { hosts: hosts[i] } : {}),
    ...(apart[i] ? { apart: apart[i] } : {}),
  }));
  return { items, flows, bins, table };
}

/**
 * Cycles that are kept for a node: its estimate or, for an NF that may use a part of a core, that part. `hz`: of the slowest
 * core, so that no part is too large for one.
 */
function bookedCycles(node: WorkNode, hz: number): number {
  const limit = node.kind === 'nf' ? node.cpu_limit : undefined;
  return limit === undefined
    ? node.cycles_per_second
    : Math.max(node.cycles_per_second, Math.min(limit, CORE_BUDGET) * hz);
}
