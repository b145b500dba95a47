import {
  type Calibration,
  type ChainDefinition,
  type CostProfile,
  crossesServers,
  type GraphEdge,
  type Infrastructure,
  isAtSwitch,
  type MergeNode,
} from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { chainsById } from '../check/chains-by-id.js';
import type { Path } from '../check/paths.js';
import { grouped } from '../grouped.js';
import { inOrder, type PlacedNode } from '../igraph/graph.js';
import { partOf } from '../igraph/parts.js';
import { cyclesPerPacket } from '../igraph/sizing.js';
import { linkedSlots } from '../slot-links.js';
import { beforeFirstEngine, isFromHosts } from './before-engine.js';
import { costOfNode, reassemblies } from './instance-cost.js';
import { later, type Moments, minus, mixture, NO_TIME, plus } from './moments.js';
import { type Overheads, overheadsOf, type Spread } from './overhead.js';
import { coreKey, coreUse, type PlacedInput } from './placed.js';

export type LatencyInput = Pick<PlacedInput, 'chains' | 'descriptors' | 'infrastructure' | 'graph' | 'calibration'>;

/**
 * The time from the first engine to the exit over all packets of a chain, or of one of its paths, as the placed graph
 * leads them. Each core is an M/G/1 queue that shares its processor among the packets that it has (M/G/1-PS), so that the
 * mean sojourn is service / (1 - load) whatever the distribution of service; sojourns are taken as independent and
 * exponential, and a core that sleeps adds a wake-up. A merge waits for the last of its branches.
 */
export function latencyOf(
  input: LatencyInput,
  chainId: string,
  path: Path | null = null,
  overheads: Overheads = overheadsOf(input.calibration),
): Moments {
  const { definition } = chainsById(input.chains).get(chainId)!;
  const onPath = path && new Set(path.edges.map((edge) => `${definition.name}.${edge}`));
  const part = partOf(input.graph, chainId);
  const edges = part.edges.filter(
    ({ direction, pgraph_edge }) => direction === 'forward' && (!onPath || onPath.has(pgraph_edge!)),
  );
  const nodes = new Map(part.nodes.map((node) => [node.id, node]));
  const entering = grouped(edges, ({ to }) => to);
  const unseen = beforeFirstEngine(part);
  const busy = coreUse(input.graph);
  const work = workOf(input, definition, busy);
  /** When packets leave each node, since they met the first engine. */
  const left = new Map<string, Moments>();
  const arrival = (edge: GraphEdge): Moments => {
    const { from, to, from_server, to_server } = edge;
    const enters = isFromHosts(edge, unseen);
    const there = enters || crossesServers(edge) ? (nodes.get(to) as PlacedNode) : null;
    const wake = there && !inSlot(there) ? wakeUp(busy.get(coreKey(there))!, overheads.entry(there.server)) : NO_TIME;
    const hop =
      !enters && crossesServers(edge)
        ? hopTime(linkDelay(input.infrastructure, from_server!, to_server), overheads.hop)
        : NO_TIME;
    const before = from === null ? NO_TIME : left.get(from)!;
    return plus(plus(before, wake), hop);
  };
  const mixed = (those: readonly GraphEdge[]) =>
    mixture(those.map((edge) => ({ weight: weightOf(edge), time: arrival(edge) })));
  for (const id of inOrder([...nodes.keys()], edges)) {
    const node = nodes.get(id)!;
    const those = entering.get(id);
    if (!those) continue;
    const arrived = node.kind === 'merge' ? merged(node, those) : mixed(those);
    if (node.kind === 'exit') return arrived;
    left.set(id, unseen.has(id) ? NO_TIME : plus(arrived, work(node)));
  }
  return NO_TIME;

  /** The last copy's arrival; what all have in common lies before the mirror. */
  function merged({ mirror }: MergeNode, those: readonly GraphEdge[]): Moments {
    const common = left.get(mirror)!;
    const branches = grouped(those, ({ input }) => String(input));
    const last = [...branches.values()].map((branch) => minus(mixed(branch), common)).reduce(later);
    return plus(common, last);
  }
}

/** What a packet spends in a node: the fixed part, and the sojourn on its core. */
function workOf(input: LatencyInput, definition: ChainDefinition, busy: ReadonlyMap<string, number>) {
  const catalogue = indexDescriptors(input.descriptors);
  const ghz = clocksByServer(input.infrastructure);
  const places = reassemblies(input.graph, input.descriptors);
  return (node: PlacedNode): Moments => {
    const cost = costOfNode(node, catalogue, input.infrastructure, definition, places.has(node.id));
    const service = serviceUs(cost, definition.traffic_class.packet_bytes, ghz.get(node.server)!);
    const sojourn = service / (1 - Math.min(0.999, busy.get(coreKey(node))!));
    const fixed = cost.base_latency_us;
    return { mean_us: fixed + sojourn, variance_us2: sojourn * sojourn, least_us: fixed };
  };
}

const KNOWN_CLOCKS = new WeakMap<Infrastructure, ReadonlyMap<string, number>>();

/** In GHz; made once for each infrastructure. */
function clocksByServer(infrastructure: Infrastructure): ReadonlyMap<string, number> {
  const known = KNOWN_CLOCKS.get(infrastructure);
  if (known) return known;
  const clocks = new Map(infrastructure.servers.map(({ id, ghz }) => [id, ghz]));
  KNOWN_CLOCKS.set(infrastructure, clocks);
  return clocks;
}

/** Wait for a core that is busy for this share of the time and sleeps otherwise. */
function wakeUp(share: number, wake: Spread): Moments {
  const asleep = Math.max(0, 1 - share);
  const mean_us = asleep * wake.mean_us;
  return { mean_us, variance_us2: asleep * (wake.sd_us ** 2 + wake.mean_us ** 2) - mean_us ** 2, least_us: 0 };
}

/** A hop that always takes the same time takes at least that. */
function hopTime(links_us: number, { mean_us, sd_us }: Spread): Moments {
  return {
    mean_us: links_us + mean_us,
    variance_us2: sd_us ** 2,
    least_us: links_us + (sd_us === 0 ? mean_us : 0),
  };
}

/** A branch without traffic still counts a little, so that its latency is not undefined. */
function weightOf(edge: GraphEdge): number {
  return Math.max(edge.rate_bps, 1e-6);
}

/** Mean time from one server to another; without a calibration by the built-in figures. */
export function hopDelay(infrastructure: Infrastructure, from: string, to: string, calibration?: Calibration): number {
  return linkDelay(infrastructure, from, to) + overheadsOf(calibration).hop.mean_us;
}

function linkDelay(infrastructure: Infrastructure, from: string, to: string): number {
  const delays = delaysByNode(infrastructure);
  const slots = linkedSlots(infrastructure);
  const out = slots.get(from)?.far.link.delay_us ?? delays.get(from) ?? 0;
  return out + (slots.get(to)?.near.link.delay_us ?? delays.get(to) ?? 0);
}

function inSlot(node: PlacedNode): boolean {
  return node.kind === 'nf' && isAtSwitch(node);
}

const KNOWN_DELAYS = new WeakMap<Infrastructure, ReadonlyMap<string, number>>();

/** Delay of the first link of each node; made once for each infrastructure. */
function delaysByNode(infrastructure: Infrastructure): ReadonlyMap<string, number> {
  const known = KNOWN_DELAYS.get(infrastructure);
  if (known) return known;
  const delays = new Map<string, number>();
  for (const { a, b, delay_us } of infrastructure.links)
    for (const { node } of [a, b]) if (!delays.has(node)) delays.set(node, delay_us);
  KNOWN_DELAYS.set(infrastructure, delays);
  return delays;
}

/** What one packet of the length needs on an idle core of this clock. */
export function serviceUs(cost: CostProfile, packetBytes: number, ghz: number): number {
  return cyclesPerPacket(cost, packetBytes) / (ghz * 1e3);
}
