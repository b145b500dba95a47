import { type ChainDefinition, nfInstances } from '@orrery/contract';
import { costOnCore } from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { chainsById } from '../check/chains-by-id.js';
import { fastestGhz } from '../check/clock.js';
import { descriptorsByNode, graphOf, topologicalOrder } from '../check/graph.js';
import {
  boardImplementation,
  containerImplementation,
  slotTimeUs,
  softwareImplementation,
} from '../check/implementation.js';
import { partOf } from '../igraph/parts.js';
import { pgraphOfChain } from '../igraph/pgraph.js';
import { serviceUs } from './latency.js';
import type { PlacedInput } from './placed.js';

type Hardware = Pick<PlacedInput, 'descriptors' | 'infrastructure'>;

/** From here on a percentile of the model lies above the mean of every way: sojourns are exponential or narrower. */
const ABOVE_THE_MEAN = 90;

/** What NFs take on the fastest server or board without queue, wake-up or hop. */
export function leastTimeUs(
  { descriptors, infrastructure }: Hardware,
  definition: ChainDefinition,
  nodes: readonly string[],
): number {
  const least = leastOfEach({ descriptors, infrastructure }, definition);
  return nodes.reduce((sum, id) => sum + least(id).fixed + least(id).service, 0);
}

/**
 * No placement on this hardware has a lower percentile: the fixed time of the fastest way, and its service where the
 * percentile lies above the mean.
 */
export function leastPercentileUs(input: Hardware, definition: ChainDefinition, percentile: number): number {
  const least = leastOfEach(input, definition);
  const graph = graphOf(definition);
  const reached = new Map<string, number>();
  for (const id of topologicalOrder(graph) ?? []) {
    const { kind } = graph.nodes.get(id)!;
    const incoming = graph.incoming.get(id)!.map(({ from }) => reached.get(from) ?? Number.POSITIVE_INFINITY);
    const before = kind === 'ingress' ? 0 : Math.min(...incoming, Number.POSITIVE_INFINITY);
    const own = kind === 'nf' ? least(id).fixed + (percentile >= ABOVE_THE_MEAN ? least(id).service : 0) : 0;
    reached.set(id, before + own);
  }
  const exits = [...graph.nodes.values()].filter(({ kind }) => kind === 'egress').map(({ id }) => reached.get(id)!);
  const shortest = Math.min(...exits, Number.POSITIVE_INFINITY);
  return Number.isFinite(shortest) ? shortest : 0;
}

function leastOfEach({ descriptors, infrastructure }: Hardware, definition: ChainDefinition) {
  const catalogue = indexDescriptors(descriptors);
  const nfs = descriptorsByNode(definition);
  const ghz = fastestGhz(infrastructure);
  const bytes = definition.traffic_class.packet_bytes;
  return (id: string) => {
    const descriptor = catalogue.get(nfs.get(id)!)!;
    const onCores = [softwareImplementation(descriptor), containerImplementation(descriptor)].flatMap((it) =>
      it ? [{ fixed: it.cost.base_latency_us, service: serviceUs(it.cost, bytes, ghz) }] : [],
    );
    const onBoard = boardImplementation(descriptor);
    const slots = (onBoard ? infrastructure.boards : []).map(({ latency_us, clock_mhz }) => ({
      fixed: latency_us + slotTimeUs(onBoard!, bytes, clock_mhz),
      service: serviceUs(costOnCore(descriptor, 'board'), bytes, ghz),
    }));
    return [...onCores, ...slots].reduce((a, b) => ({
      fixed: Math.min(a.fixed, b.fixed),
      service: Math.min(a.service, b.service),
    }));
  };
}

/**
 * The chain's rate at which all links into servers, or all cores, are full of it alone: no placement on this hardware
 * carries more. Traffic that no NF treats crosses no link to a server.
 */
export function mostThroughputBps({ bins, graph, chains, pgraph }: PlacedInput, chainId: string): number {
  const chain = chainsById(chains).get(chainId)!;
  const rate = chain.definition.traffic_class.rate_bps;
  const hz = new Map(bins.map((bin) => [bin.id, bin.hz]));
  const own = nfInstances(partOf(graph, chainId));
  const cycles = own.reduce((sum, { core_share, server }) => sum + core_share * hz.get(server)!, 0);
  const entering = pgraphOfChain(pgraph, chain)
    .edges.filter(({ from, to }) => from === null && to !== null)
    .reduce((sum, { rate_bps }) => sum + rate_bps, 0);
  const all = bins.reduce((sum, { cores, hz: each }) => sum + cores * each, 0);
  const links = bins.reduce((sum, { link_bps }) => sum + link_bps, 0);
  const scale = (room: number, used: number) => (used > 0 ? (rate * room) / used : Number.POSITIVE_INFINITY);
  return Math.min(MOST_BPS, scale(all, cycles), scale(links, entering));
}

/** The contract's largest rate. */
const MOST_BPS = 1e13;
