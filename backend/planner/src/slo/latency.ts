import {
  type CostProfile,
  crossesServers,
  type GraphEdge,
  type Infrastructure,
  type MergeNode,
} from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import type { Path } from '../check/paths.js';
import { grouped } from '../grouped.js';
import { formNodeOf, inOrder, type PlacedNode } from '../igraph/graph.js';
import { cyclesPerPacket } from '../igraph/sizing.js';
import { costOfNode } from './instance-cost.js';
import { later, type Moments, minus, mixture, NO_TIME, plus } from './moments.js';
import { coreKey, coreUse, type PlacedInput } from './placed.js';

/** Engine to switch to engine without the links' own delay: two port crossings and one rule. */
export const FABRIC_HOP_US = 50;

/**
 * Mean of what the first packet of a core that slept waits beyond its service: caches are cold and the worker has to run
 * again. Exponential; measured in the twin on a quiet machine (docs/benchmarks.md, chain latency).
 */
export const WAKE_UP_US = 8;

/**
 * The time from the first engine to the exit over all packets of a chain, or of one of its paths, as the placed graph
 * leads them. Each core is an M/G/1 queue that shares its processor among the packets that it has (M/G/1-PS), so that the
 * mean sojourn is service / (1 - load) whatever the distribution of service; sojourns are taken as independent and
 * exponential, and a core that sleeps adds an exponential wake-up. A merge waits for the last of its branches.
 */
export function latencyOf(input: PlacedInput, chainId: string, path: Path | null = null): Moments {
  const { definition } = input.chains.find(({ chain_id }) => chain_id === chainId)!;
  const onPath = path && new Set(path.edges.map((edge) => `${definition.name}.${edge}`));
  const edges = input.graph.edges.filter(
    ({ chain_id, direction, pgraph_edge }) =>
      chain_id === chainId && direction === 'forward' && (!onPath || onPath.has(pgraph_edge!)),
  );
  const nodes = new Map(
    input.graph.nodes.filter(({ chain_id }) => chain_id === chainId).map((node) => [node.id, node]),
  );
  const entering = grouped(edges, ({ to }) => to);
  const busy = coreUse(input.graph);
  const work = workOf(input, definition.traffic_class.packet_bytes, busy);
  /** When packets leave each node, since they met the first engine. */
  const left = new Map<string, Moments>();
  const arrival = (edge: GraphEdge): Moments => {
    const { from, to, from_server, to_server } = edge;
    const over = from_server === null || crossesServers(edge);
    const there = over ? (nodes.get(to) as PlacedNode) : null;
    const wake = there ? wakeUp(busy.get(coreKey(there))!) : NO_TIME;
    const hop = crossesServers(edge) ? hopDelay(input.infrastructure, from_server!, to_server) : 0;
    const before = from === null ? NO_TIME : left.get(from)!;
    return plus(plus(before, wake), { mean_us: hop, variance_us2: 0, least_us: hop });
  };
  const mixed = (those: readonly GraphEdge[]) =>
    mixture(those.map((edge) => ({ weight: weightOf(edge), time: arrival(edge) })));
  for (const id of inOrder([...nodes.keys()], edges)) {
    const node = nodes.get(id)!;
    const those = entering.get(id);
    if (!those) continue;
    const arrived = node.kind === 'merge' ? merged(node, those) : mixed(those);
    if (node.kind === 'exit') return arrived;
    left.set(id, plus(arrived, work(node)));
  }
  return NO_TIME;

  /** The last copy's arrival; what all have in common lies before the mirror. */
  function merged({ mirror }: MergeNode, those: readonly GraphEdge[]): Moments {
    const common = left.get(mirror)!;
    const branches = grouped(those, ({ from }) => formNodeOf(nodes.get(from!)!));
    const last = [...branches.values()].map((branch) => minus(mixed(branch), common)).reduce(later);
    return plus(common, last);
  }
}

/** What a packet spends in a node: the fixed part, and the sojourn on its core. */
function workOf(input: PlacedInput, packetBytes: number, busy: ReadonlyMap<string, number>) {
  const catalogue = indexDescriptors(input.descriptors);
  const ghz = new Map(input.infrastructure.servers.map((server) => [server.id, server.ghz]));
  return (node: PlacedNode): Moments => {
    const cost = costOfNode(node, catalogue, input.infrastructure, packetBytes);
    const service = serviceUs(cost, packetBytes, ghz.get(node.server)!);
    const sojourn = service / (1 - Math.min(0.999, busy.get(coreKey(node))!));
    const fixed = cost.base_latency_us;
    return { mean_us: fixed + sojourn, variance_us2: sojourn * sojourn, least_us: fixed };
  };
}

/** Wait for a core that is busy for this share of the time and sleeps otherwise. */
function wakeUp(share: number): Moments {
  const asleep = Math.max(0, 1 - share);
  const mean_us = asleep * WAKE_UP_US;
  return { mean_us, variance_us2: 2 * asleep * WAKE_UP_US ** 2 - mean_us ** 2, least_us: 0 };
}

/** A branch without traffic still counts a little, so that its latency is not undefined. */
function weightOf(edge: GraphEdge): number {
  return Math.max(edge.rate_bps, 1e-6);
}

/** Mean time from one server to another, or from a host's switch port when one is named. */
export function hopDelay({ links }: Infrastructure, ...servers: string[]): number {
  const delay = (server: string) => links.find(({ a, b }) => a.node === server || b.node === server)?.delay_us ?? 0;
  return servers.reduce((sum, server) => sum + delay(server), FABRIC_HOP_US);
}

/** What one packet of the length needs on an idle core of this clock. */
export function serviceUs(cost: CostProfile, packetBytes: number, ghz: number): number {
  return cyclesPerPacket(cost, packetBytes) / (ghz * 1e3);
}
