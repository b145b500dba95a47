import type { ChainInstance, ChainNetwork, DeployOption } from '../chaining/problem.js';

/** An instance of a pool as it runs now. */
export interface LiveInstance {
  readonly id: string;
  readonly nf: string;
  /** Server, or slot at a switch. */
  readonly place: string;
  /** Without what packets take to enter a server. */
  readonly latency_us: number;
  readonly measured: boolean;
  /** Planned, booked by requests, and seen lately. */
  readonly rate_bps: number;
  readonly booked_bps: number;
  readonly measured_bps: number;
}

/** An instance that could be deployed in a free slot, which several may want. */
export interface LiveOption extends Pick<LiveInstance, 'id' | 'nf' | 'place' | 'latency_us' | 'rate_bps'> {
  readonly slot: string;
  readonly cost: number;
}

/** What requests to a pool can use. */
export interface LiveState {
  /** NFs of the pool, in the order in which requests pass them. */
  readonly functions: readonly string[];
  /** Those that work. */
  readonly instances: readonly LiveInstance[];
  readonly options: readonly LiveOption[];
  /** What packets take until the place takes them up, from hosts; and from one place to another. */
  readonly entry_us: (place: string) => number;
  readonly transit_us: (from: string, to: string) => number;
}

export type PlaceTimes = Pick<LiveState, 'entry_us' | 'transit_us'>;

/**
 * The network of HYPER IV. Every place is a node, and one more is where packets come from and go to; each free slot is a node
 * that has room for one deployment. What an instance has left is its planned rate without what is booked, or without what is
 * measured where that is more.
 */
export function liveNetwork(state: LiveState): ChainNetwork {
  const { functions, instances, options } = state;
  const slots = [...new Set(options.map(({ slot }) => slot))];
  const places = [...new Set(instances.map(({ place }) => place))];
  const nodes = [
    ...places.map((id) => ({ id, capacity_free: 0, capacity_unit: 'slots', place: id })),
    ...slots.map((id) => ({
      id,
      capacity_free: 1,
      capacity_unit: 'slots',
      place: options.find(({ slot }) => slot === id)!.place,
    })),
    { id: OUTSIDE, capacity_free: 0, capacity_unit: 'slots', place: null },
  ];
  const index = new Map(nodes.map(({ id }, v) => [id, v]));
  const common = { capacity_per_chain: 0, capacity_per_bps: 0 };
  const transit = (from: string | null, to: string | null) => {
    if (to === null || from === to) return 0;
    return from === null ? state.entry_us(to) : state.transit_us(from, to);
  };
  return {
    functions,
    nodes: nodes.map(({ place: _, ...node }) => node),
    instances: instances.map(
      (it): ChainInstance => ({
        id: it.id,
        function: functions.indexOf(it.nf),
        node: index.get(it.place)!,
        latency_us: it.latency_us,
        throughput_free_bps: Math.max(0, it.rate_bps - Math.max(it.booked_bps, it.measured_bps)),
        ...common,
      }),
    ),
    options: options.map(
      (it): DeployOption => ({
        id: it.id,
        function: functions.indexOf(it.nf),
        node: index.get(it.slot)!,
        latency_us: it.latency_us,
        throughput_free_bps: it.rate_bps,
        ...common,
        cost: it.cost,
        capacity_fixed: 1,
      }),
    ),
    transit_us: nodes.map(({ place: from }) => nodes.map(({ place: to }) => transit(from, to))),
  };
}

/** Where hosts are. */
export const OUTSIDE = 'hosts';
