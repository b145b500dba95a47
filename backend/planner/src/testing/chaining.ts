import fc from 'fast-check';
import type { ConflictPart } from '../chaining/conflicts.js';
import type { ChainNetwork, ChainRequest, DeployOption } from '../chaining/problem.js';
import { type Random, seededRandom } from '../random.js';

/** Candidates of a network in the order in which answers name them; `cost` is 0 for those that run. */
export function candidatesOf({ instances, options }: ChainNetwork): DeployOption[] {
  return [...instances.map((it) => ({ ...it, cost: 0, capacity_fixed: 0 })), ...options];
}

/** The cheapest and then shortest path that keeps the SLA, of all there are, from the definitions alone. */
export function bestPath(network: ChainNetwork, request: ChainRequest): { cost: number; latency_us: number } | null {
  const all = candidatesOf(network);
  const stages = request.functions.map((f) => [...all.keys()].filter((c) => all[c]!.function === f));
  let best: { cost: number; latency_us: number } | null = null;
  const walk = (path: number[]) => {
    if (path.length === stages.length) {
      const figures = figuresOf(network, request, path);
      if (!figures.sound) return;
      const { cost, latency_us } = figures;
      if (!best || cost < best.cost || (cost === best.cost && latency_us < best.latency_us))
        best = { cost, latency_us };
      return;
    }
    for (const c of stages[path.length]!) walk([...path, c]);
  };
  walk([]);
  return best;
}

/** Whether some path keeps these parts of the SLA, of all there are, from the definitions alone. */
export function keepsParts(network: ChainNetwork, request: ChainRequest, parts: readonly ConflictPart[]): boolean {
  const all = candidatesOf(network);
  const needing = (path: readonly number[]) => path.filter((_, k) => parts.includes(k));
  const bound = parts.includes('latency') ? request.latency_us : Number.MAX_VALUE;
  const walk = (path: number[]): boolean => {
    const f = request.functions[path.length];
    if (f === undefined) {
      const { fits } = figuresOf(network, request, needing(path));
      return fits && figuresOf(network, request, path).latency_us <= bound;
    }
    return [...all.keys()].some((c) => all[c]!.function === f && walk([...path, c]));
  };
  return walk([]);
}

/** Latency, deployment cost and whether the SLA holds, of one path. */
export function figuresOf(network: ChainNetwork, request: ChainRequest, path: readonly number[]) {
  const all = candidatesOf(network);
  const used = path.map((c) => all[c]!);
  const places = [request.ingress, ...used.map(({ node }) => node), request.egress];
  const latency_us =
    places.slice(1).reduce((sum, to, k) => sum + network.transit_us[places[k]!]![to]!, 0) +
    used.reduce((sum, it) => sum + it.latency_us, 0);
  const deployed = [...new Set(path)].map((c) => all[c]!);
  const fitsInstances = [...new Set(path)].every(
    (c) => path.filter((it) => it === c).length * request.throughput_bps <= all[c]!.throughput_free_bps + 1e-6,
  );
  const fitsNodes = network.nodes.every((node, v) => {
    const flows = used
      .filter((it) => it.node === v)
      .reduce((sum, it) => sum + it.capacity_per_chain + it.capacity_per_bps * request.throughput_bps, 0);
    const fixed = deployed.filter((it) => it.node === v).reduce((sum, it) => sum + it.capacity_fixed, 0);
    return flows + fixed <= node.capacity_free + 1e-6;
  });
  return {
    latency_us,
    cost: deployed.reduce((sum, it) => sum + it.cost, 0),
    fits: fitsInstances && fitsNodes,
    sound: fitsInstances && fitsNodes && latency_us <= request.latency_us,
  };
}

const whole = (min: number, max: number) => fc.integer({ min, max });

/** Small networks and requests in which every constraint may bind, functions may recur and stages may share nodes. */
export function arbitraryChaining(): fc.Arbitrary<{ network: ChainNetwork; request: ChainRequest }> {
  return fc.tuple(whole(1, 4), whole(1, 3)).chain(([nodes, functions]) => {
    const instance = {
      function: whole(0, functions - 1),
      node: whole(0, nodes - 1),
      latency_us: whole(0, 30),
      throughput_free_bps: whole(1, 12),
      capacity_per_chain: whole(0, 4),
      capacity_per_bps: whole(0, 1),
    };
    const row = fc.array(fc.oneof({ weight: 12, arbitrary: whole(0, 20) }, fc.constant(Number.POSITIVE_INFINITY)), {
      minLength: nodes,
      maxLength: nodes,
    });
    return fc.record({
      network: fc
        .record({
          free: fc.array(whole(0, 24), { minLength: nodes, maxLength: nodes }),
          instances: fc.array(fc.record(instance), { maxLength: 6 }),
          options: fc.array(fc.record({ ...instance, cost: whole(1, 4), capacity_fixed: whole(0, 5) }), {
            maxLength: 4,
          }),
          transit_us: fc.array(row, { minLength: nodes, maxLength: nodes }),
        })
        .map(({ free, instances, options, transit_us }) => ({
          functions: ['nat', 'firewall', 'dpi'].slice(0, functions),
          nodes: free.map((capacity_free, v) => ({ id: `node-${v}`, capacity_free, capacity_unit: 'units' })),
          instances: instances.map((it, i) => ({ ...it, id: `run-${i}` })),
          options: options.map((it, i) => ({ ...it, id: `new-${i}` })),
          transit_us,
        })),
      request: fc.record({
        functions: fc.array(whole(0, functions - 1), { minLength: 1, maxLength: 4 }),
        ingress: whole(0, nodes - 1),
        egress: whole(0, nodes - 1),
        throughput_bps: whole(1, 6),
        latency_us: whole(20, 150),
      }),
    });
  });
}

const CHAIN_FUNCTIONS = ['nat', 'firewall', 'flow-monitor', 'dpi'];

/**
 * A network of servers and boards with 20 instances of four functions, as in HYPER VII-E, and boards that could carry
 * more: boards take a few microseconds, servers six times that (HYPER VII-A1).
 */
export function mixedNetwork(seed: number, instances = 20): ChainNetwork {
  const random = seededRandom(seed);
  const servers = 6;
  const boards = 4;
  const instance = (i: number, board: boolean) => ({
    id: `${board ? 'board' : 'server'}-nf-${i}`,
    function: i % CHAIN_FUNCTIONS.length,
    node: board ? servers + pick(random, boards) : pick(random, servers),
    latency_us: board ? 2 + 3 * random() : 12 + 20 * random(),
    throughput_free_bps: 10e9,
    capacity_per_chain: board ? 16 : 0,
    capacity_per_bps: board ? 0 : 2.5,
  });
  return {
    functions: CHAIN_FUNCTIONS,
    nodes: [
      ...Array.from({ length: servers }, (_, v) => ({
        id: `server-${v}`,
        capacity_free: 40e9,
        capacity_unit: 'cycles/s',
      })),
      ...Array.from({ length: boards }, (_, v) => ({
        id: `board-${v}`,
        capacity_free: 512,
        capacity_unit: 'tcam entries',
      })),
    ],
    instances: Array.from({ length: instances }, (_, i) => instance(i, i % 5 < 2)),
    options: Array.from({ length: 8 }, (_, i) => ({
      ...instance(instances + i, true),
      cost: 1,
      capacity_fixed: 16,
    })),
    transit_us: Array.from({ length: servers + boards }, (_, a) =>
      Array.from({ length: servers + boards }, (_, b) => (a === b ? 0 : 1 + 6 * random())),
    ),
  };
}

/** A random SLA on such a network (HYPER VII-E: functions, latency and throughput at random). */
export function randomSla(random: Random, network: ChainNetwork): ChainRequest {
  const length = 2 + pick(random, 3);
  return {
    functions: Array.from({ length }, () => pick(random, network.functions.length)),
    ingress: pick(random, network.nodes.length),
    egress: pick(random, network.nodes.length),
    throughput_bps: (0.05 + 0.5 * random()) * 1e9,
    latency_us: 20 + 60 * random(),
  };
}

function pick(random: Random, below: number): number {
  return Math.floor(random() * below);
}
