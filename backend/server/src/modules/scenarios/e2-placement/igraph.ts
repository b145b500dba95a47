import { CORE_BUDGET, type PlacementProblem, seededRandom } from '@orrery/planner';

/** A policy graph at the rate of one: what share of the traffic takes each edge and ends at each node. */
export interface Graph {
  /** By node: share of the traffic that it gets, and how its cost compares with the mean one. */
  readonly nodes: readonly { readonly share: number; readonly cost: number }[];
  readonly edges: readonly { readonly from: number; readonly to: number; readonly share: number }[];
}

export interface Rack {
  readonly servers: number;
  readonly cores: number;
  readonly link_bps: number;
  /** Of the mean NF. */
  readonly bps_per_core: number;
  /** In all directions together. */
  readonly switch_bps: number;
}

const costOf = (random: () => number) => 0.5 + random();

/** NFs one after the other. */
export function linearChain(length: number, seed: number): Graph {
  const random = seededRandom(seed);
  return {
    nodes: Array.from({ length }, () => ({ share: 1, cost: costOf(random) })),
    edges: Array.from({ length: length - 1 }, (_, from) => ({ from, to: from + 1, share: 1 })),
  };
}

/** Each NF but the first gets traffic from one or two earlier ones; each divides its traffic evenly, or is the last on the way. */
export function randomGraph(length: number, seed: number): Graph {
  const random = seededRandom(seed);
  const ways = Array.from({ length }, () => new Set<number>());
  for (let to = 1; to < length; to++)
    for (let n = random() < 0.5 ? 1 : 2; n > 0; n--) ways[Math.floor(random() * to)]!.add(to);
  const share = Array.from({ length }, (_, i) => (i === 0 ? 1 : 0));
  const edges = ways.flatMap((targets, from) =>
    [...targets].map((to) => {
      const part = share[from]! / targets.size;
      share[to]! += part;
      return { from, to, share: part };
    }),
  );
  return { nodes: share.map((part) => ({ share: part, cost: costOf(random) })), edges };
}

/**
 * The instance graph that fills so much of the cores that the planner hands out, and the rate that it takes. Instances
 * of an NF have equal ranges of the flows, and instances of the next NF get those of their own ranges: no flow is
 * classified again (E2 3.4.1 step 3). Links and tables do not bind.
 */
export function instanceGraph(
  { nodes, edges }: Graph,
  rack: Rack,
  fill: number,
): { problem: PlacementProblem; rate_bps: number } {
  const HZ = 1e9;
  const coresOf = (rate: number, i: number) => (rate * nodes[i]!.share * nodes[i]!.cost) / rack.bps_per_core;
  const instancesAt = (rate: number) =>
    nodes.map((_, i) => Math.max(1, Math.ceil(coresOf(rate, i) / CORE_BUDGET - 1e-9)));
  const total = (rate: number) => instancesAt(rate).reduce((sum, n) => sum + n, 0);
  const cores = nodes.reduce((sum, _, i) => sum + coresOf(1, i), 0);
  // Instances of large cost take a core each, so it is they that may be no more than the cores.
  let rate_bps = (fill * rack.servers * rack.cores * CORE_BUDGET) / cores;
  while (total(rate_bps) > rack.servers * rack.cores) rate_bps *= 0.99;
  const counts = instancesAt(rate_bps);
  const first = counts.map((_, i) => counts.slice(0, i).reduce((sum, n) => sum + n, 0));
  const out = nodes.map(({ share }, i) =>
    edges.reduce((left, edge) => (edge.from === i ? left - edge.share : left), share),
  );
  const items = nodes.flatMap((_, i) =>
    Array.from({ length: counts[i]! }, (_unused, n) => ({
      id: `nf-${i + 1}.${n}`,
      cycles_per_second: (coresOf(rate_bps, i) * HZ) / counts[i]!,
      memory_bytes: 0,
      outside_in_bps: i === 0 ? rate_bps / counts[0]! : 0,
      outside_out_bps: (out[i]! * rate_bps) / counts[i]!,
    })),
  );
  const flows = edges.flatMap(({ from, to, share }) =>
    overlaps(counts[from]!, counts[to]!).map(([a, b, part]) => ({
      from: first[from]! + a,
      to: first[to]! + b,
      rate_bps: share * part * rate_bps,
    })),
  );
  const bins = Array.from({ length: rack.servers }, (_, i) => ({
    id: `server-${i + 1}`,
    cores: rack.cores,
    hz: HZ,
    memory_bytes: 1,
    link_bps: 1e15,
    link_constraint: 'nic-bandwidth' as const,
  }));
  return { problem: { items, flows, bins, table: { fixed: 0, available: 1e9, where: 'switch' } }, rate_bps };
}

/** Of [0, 1) in `a` and in `b` equal ranges: the pairs that meet, and how long what they share is. */
function overlaps(a: number, b: number): [number, number, number][] {
  const all: [number, number, number][] = [];
  for (let i = 0, j = 0; i < a && j < b; ) {
    const part = Math.min((i + 1) / a, (j + 1) / b) - Math.max(i / a, j / b);
    if (part > 1e-12) all.push([i, j, part]);
    if ((i + 1) * b <= (j + 1) * a) i++;
    else j++;
  }
  return all;
}
