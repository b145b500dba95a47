import { type ChainNetwork, type ChainRequest, checkNetwork, MAX_STAGES, type Shortage } from './problem.js';

/** Rounding tolerance, relative: what is left after many chains may be slightly less than what the next one needs. */
const TOLERANCE = 1e-9;

/** A network in flat arrays, made once for many requests. Candidates are its instances, then its options. */
export interface PreparedNetwork {
  readonly source: ChainNetwork;
  readonly nodes: number;
  readonly candidates: number;
  readonly byFunction: readonly Int32Array[];
  readonly node: Int32Array;
  readonly latency_us: Float64Array;
  readonly perChain: Float64Array;
  readonly perBps: Float64Array;
  readonly fixed: Float64Array;
  readonly cost: Float64Array;
  /** `transit_us[from * nodes + to]` */
  readonly transit_us: Float64Array;
  /** Free capacity; accepting a chain reduces it. */
  readonly free_bps: Float64Array;
  readonly nodeFree: Float64Array;
  /** 1 while the candidate runs: an instance, or an option that was deployed. */
  readonly running: Uint8Array;
  readonly scratch: Scratch;
}

/** Latencies by stage and candidate, used again by each request. */
export interface Scratch {
  readonly forward: Float64Array;
  readonly before: Int32Array;
  readonly backward: Float64Array;
  readonly after: Int32Array;
  readonly path: Int32Array;
}

/** Makes a network ready for requests. Errors: `BadProblem`. */
export function prepareNetwork(source: ChainNetwork): PreparedNetwork {
  checkNetwork(source);
  const { functions, nodes, instances, options, transit_us } = source;
  const all = [...instances, ...options];
  const cells = MAX_STAGES * all.length;
  return {
    source,
    nodes: nodes.length,
    candidates: all.length,
    byFunction: functions.map((_, f) => Int32Array.from([...all.keys()].filter((c) => all[c]!.function === f))),
    node: Int32Array.from(all, (it) => it.node),
    latency_us: Float64Array.from(all, (it) => it.latency_us),
    perChain: Float64Array.from(all, (it) => it.capacity_per_chain),
    perBps: Float64Array.from(all, (it) => it.capacity_per_bps),
    fixed: Float64Array.from([...instances.map(() => 0), ...options.map((it) => it.capacity_fixed)]),
    cost: Float64Array.from([...instances.map(() => 0), ...options.map((it) => it.cost)]),
    transit_us: Float64Array.from(transit_us.flat()),
    free_bps: Float64Array.from(all, (it) => it.throughput_free_bps),
    nodeFree: Float64Array.from(nodes, (it) => it.capacity_free),
    running: Uint8Array.from(all, (_, c) => (c < instances.length ? 1 : 0)),
    scratch: {
      forward: new Float64Array(cells),
      before: new Int32Array(cells),
      backward: new Float64Array(cells),
      after: new Int32Array(cells),
      path: new Int32Array(MAX_STAGES),
    },
  };
}

/** The same network with its own record of what is left. */
export function copyOf(network: PreparedNetwork): PreparedNetwork {
  return {
    ...network,
    free_bps: network.free_bps.slice(),
    nodeFree: network.nodeFree.slice(),
    running: network.running.slice(),
  };
}

export function idOf({ source }: PreparedNetwork, candidate: number): string {
  const running = source.instances.length;
  return candidate < running ? source.instances[candidate]!.id : source.options[candidate - running]!.id;
}

export function exceeds(need: number, free: number): boolean {
  return need > 0 && need * (1 - TOLERANCE) > free;
}

/** Node capacity that a chain uses at a candidate, running or not. */
export function capacityNeed(network: PreparedNetwork, candidate: number, rate_bps: number): number {
  const base = network.perChain[candidate]! + network.perBps[candidate]! * rate_bps;
  return network.running[candidate] ? base : base + network.fixed[candidate]!;
}

/** Whether a candidate could take the flow if nothing else of the chain met its node. */
export function isAble(network: PreparedNetwork, candidate: number, rate_bps: number): boolean {
  return (
    !exceeds(rate_bps, network.free_bps[candidate]!) &&
    !exceeds(capacityNeed(network, candidate, rate_bps), network.nodeFree[network.node[candidate]!]!)
  );
}

/** Why a candidate alone cannot take the flow. */
export function lacking(network: PreparedNetwork, candidate: number, rate_bps: number): Shortage | null {
  if (exceeds(rate_bps, network.free_bps[candidate]!)) return throughputShortage(network, candidate, rate_bps);
  const needed = capacityNeed(network, candidate, rate_bps);
  const node = network.node[candidate]!;
  return exceeds(needed, network.nodeFree[node]!) ? capacityShortage(network, node, needed) : null;
}

function throughputShortage(network: PreparedNetwork, candidate: number, needed: number): Shortage {
  const available = network.free_bps[candidate]!;
  return { constraint: 'throughput', needed, available, unit: 'bps', where: idOf(network, candidate) };
}

function capacityShortage({ source, nodeFree }: PreparedNetwork, node: number, needed: number): Shortage {
  const { id, capacity_unit } = source.nodes[node]!;
  return { constraint: 'capacity', needed, available: nodeFree[node]!, unit: capacity_unit, where: id };
}

/**
 * The first thing that a path overbooks, or `null`. Stages on one node add up there, stages in one instance add up in
 * it, and an option that several stages use is deployed once. `stages`: those that need anything; absent: all.
 */
export function overbookedBy(
  network: PreparedNetwork,
  path: ArrayLike<number>,
  rate_bps: number,
  stages: ReadonlySet<number> | null = null,
): Shortage | null {
  const { node, free_bps, nodeFree } = network;
  for (let k = 0; k < path.length; k++) {
    if (stages && !stages.has(k)) continue;
    const c = path[k]!;
    let through = rate_bps;
    let capacity = additional(network, path, k, rate_bps, stages);
    for (let j = 0; j < k; j++) {
      if (stages && !stages.has(j)) continue;
      if (path[j] === c) through += rate_bps;
      if (node[path[j]!] === node[c]) capacity += additional(network, path, j, rate_bps, stages);
    }
    if (exceeds(through, free_bps[c]!)) return throughputShortage(network, c, through);
    if (exceeds(capacity, nodeFree[node[c]!]!)) return capacityShortage(network, node[c]!, capacity);
  }
  return null;
}

/** What a stage uses of its node, in addition to earlier stages. */
function additional(
  network: PreparedNetwork,
  path: ArrayLike<number>,
  stage: number,
  rate_bps: number,
  stages: ReadonlySet<number> | null,
): number {
  const c = path[stage]!;
  const need = capacityNeed(network, c, rate_bps);
  if (network.running[c]) return need;
  for (let j = 0; j < stage; j++) if (path[j] === c && (!stages || stages.has(j))) return need - network.fixed[c]!;
  return need;
}

/** From ingress to egress over a path, in microseconds. */
export function latencyOf(network: PreparedNetwork, path: ArrayLike<number>, request: ChainRequest): number {
  const { nodes, node, transit_us, latency_us } = network;
  let at = request.ingress;
  let sum = 0;
  for (let k = 0; k < path.length; k++) {
    const c = path[k]!;
    sum += transit_us[at * nodes + node[c]!]! + latency_us[c]!;
    at = node[c]!;
  }
  return sum + transit_us[at * nodes + request.egress]!;
}

/** Takes the capacity of a chain; options on its path run from then on. The path must not overbook the network. */
export function takeCapacity(network: PreparedNetwork, path: ArrayLike<number>, rate_bps: number): void {
  for (let k = 0; k < path.length; k++) {
    const c = path[k]!;
    network.nodeFree[network.node[c]!]! -= capacityNeed(network, c, rate_bps);
    network.free_bps[c]! -= rate_bps;
    network.running[c] = 1;
  }
}

/** Releases the capacity of a chain; what was deployed for it keeps running. */
export function giveCapacity(network: PreparedNetwork, path: ArrayLike<number>, rate_bps: number): void {
  for (let k = 0; k < path.length; k++) {
    const c = path[k]!;
    network.nodeFree[network.node[c]!]! += network.perChain[c]! + network.perBps[c]! * rate_bps;
    network.free_bps[c]! += rate_bps;
  }
}
