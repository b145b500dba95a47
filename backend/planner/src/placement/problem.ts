import type { Infrastructure, Plan } from '@orrery/contract';
import type { InstanceGraph } from '../igraph/split.js';

export type Constraint = Plan['conflicts'][number];

/** Servers on which alone an item may stand. */
export interface Hosts {
  /** By index. */
  readonly bins: ReadonlySet<number>;
  /** What all others lack, as the unit of a constraint. */
  readonly lack: string;
}

/** Something to place: an instance with its needs, independent of where it stands. */
export interface Item {
  readonly id: string;
  readonly cycles_per_second: number;
  readonly memory_bytes: number;
  /** Traffic with the hosts, which crosses the server's link wherever the instance stands. */
  readonly outside_in_bps: number;
  readonly outside_out_bps: number;
  /** Absent: any server. */
  readonly hosts?: Hosts;
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

/** Servers with what their first NIC and its link to a switch can carry; without a link they carry nothing. */
export function binsOf(infrastructure: Infrastructure): Bin[] {
  const switches = new Set(infrastructure.switches.map(({ id }) => id));
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

/**
 * The placement problem of an instance graph. `returning` holds the instances through which replies come back: an equal
 * rate in the other direction is set aside for them, since estimates speak of the forward direction only. Without `hosts`,
 * by instance, each may stand anywhere.
 */
export function problemOf(
  graph: InstanceGraph,
  bins: readonly Bin[],
  table: PlacementProblem['table'],
  returning: ReadonlySet<string>,
  hosts: readonly (Hosts | null)[] = [],
): PlacementProblem {
  const index = new Map(graph.instances.map(({ id }, i) => [id, i]));
  const outsideIn = graph.instances.map(({ id, load_bps }) => (returning.has(id) ? load_bps : 0));
  const outsideOut = [...outsideIn];
  const flows: Flow[] = [];
  for (const { from, to, rate_bps } of graph.edges) {
    if (from === null && to !== null) outsideIn[index.get(to)!]! += rate_bps;
    if (from !== null && to === null) outsideOut[index.get(from)!]! += rate_bps;
    if (from !== null && to !== null) flows.push({ from: index.get(from)!, to: index.get(to)!, rate_bps });
  }
  const items = graph.instances.map(({ id, cycles_per_second, memory_bytes }, i) => ({
    id,
    cycles_per_second,
    memory_bytes,
    outside_in_bps: outsideIn[i]!,
    outside_out_bps: outsideOut[i]!,
    ...(hosts[i] ? { hosts: hosts[i] } : {}),
  }));
  return { items, flows, bins, table };
}
