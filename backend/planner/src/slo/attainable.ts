import { type ChainDefinition, nfInstances } from '@orrery/contract';
import { costOnCore } from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { chainsById } from '../check/chains-by-id.js';
import { fastestGhz } from '../check/clock.js';
import { configuredNf } from '../check/configured-nf.js';
import { descriptorsByNode, graphOf, topologicalOrder } from '../check/graph.js';
import {
  boardImplementation,
  containerImplementation,
  slotTimeUs,
  softwareImplementation,
} from '../check/implementation.js';
import { grouped } from '../grouped.js';
import { partOf } from '../igraph/parts.js';
import { pgraphOfChain } from '../igraph/pgraph.js';
import { serviceUs } from './latency.js';
import type { PlacedInput } from './placed.js';

type Hardware = Pick<PlacedInput, 'descriptors' | 'infrastructure'>;

/** From here on a percentile of the model lies above the mean of every way: sojourns are exponential or narrower. */
const ABOVE_THE_MEAN = 90;

/** What NFs take one after the other on the fastest server or board without queue, wake-up or hop. */
export function leastTimeUs(
  { descriptors, infrastructure }: Hardware,
  definition: ChainDefinition,
  nodes: readonly string[],
): number {
  const least = leastOfEach({ descriptors, infrastructure }, definition);
  return nodes.reduce((sum, id) => sum + least(id).fixed + least(id).service, 0);
}

/** As `leastTimeUs`, of the chain as it runs: those of its NFs that run in branches may all take the time of the slowest. */
export function leastPathUs(
  input: Hardware & Pick<PlacedInput, 'graph'>,
  chainId: string,
  definition: ChainDefinition,
  nodes: readonly string[],
): number {
  const branches = nodesInBranches(input, chainId);
  const each = nodes.filter((id) => branches.has(id)).map((id) => leastTimeUs(input, definition, [id]));
  const serial = nodes.filter((id) => !branches.has(id));
  return leastTimeUs(input, definition, serial) + Math.max(0, ...each);
}

/**
 * No placement on this hardware has a lower percentile: the fixed time of the fastest way, and its service where the
 * percentile lies above the mean. Of NFs that run in branches only the slowest counts.
 */
export function leastPercentileUs(
  input: Hardware & Pick<PlacedInput, 'graph'>,
  chainId: string,
  definition: ChainDefinition,
  percentile: number,
): number {
  const least = leastOfEach(input, definition);
  const branches = nodesInBranches(input, chainId);
  const own = (id: string) => least(id).fixed + (percentile >= ABOVE_THE_MEAN ? least(id).service : 0);
  const serial = leastWay(definition, (before, id) => before + (branches.has(id) ? 0 : own(id)));
  const widest = leastWay(definition, (before, id) => (branches.has(id) ? Math.max(before, own(id)) : before));
  return serial + widest;
}

/** The least that any way to an exit comes to, given what an NF makes of what was before it. */
function leastWay(definition: ChainDefinition, after: (before: number, id: string) => number): number {
  const graph = graphOf(definition);
  const reached = new Map<string, number>();
  for (const id of topologicalOrder(graph) ?? []) {
    const { kind } = graph.nodes.get(id)!;
    const incoming = graph.incoming.get(id)!.map(({ from }) => reached.get(from) ?? Number.POSITIVE_INFINITY);
    const before = kind === 'ingress' ? 0 : Math.min(...incoming, Number.POSITIVE_INFINITY);
    reached.set(id, kind === 'nf' ? after(before, id) : before);
  }
  const exits = [...graph.nodes.values()].filter(({ kind }) => kind === 'egress').map(({ id }) => reached.get(id)!);
  const shortest = Math.min(...exits, Number.POSITIVE_INFINITY);
  return Number.isFinite(shortest) ? shortest : 0;
}

/** NFs between a mirror and its merge. */
function nodesInBranches({ graph }: Pick<PlacedInput, 'graph'>, chainId: string): ReadonlySet<string> {
  const { nodes, edges } = partOf(graph, chainId);
  const merges = new Set(nodes.flatMap(({ id, kind }) => (kind === 'merge' ? [id] : [])));
  if (merges.size === 0) return new Set();
  const leaving = grouped(edges, ({ from }) => from ?? '');
  const inside = new Set<string>();
  for (const { kind, id: mirror } of nodes) {
    if (kind !== 'mirror') continue;
    const own = nodes.find((node) => node.kind === 'merge' && node.mirror === mirror)!.id;
    const reached = new Set([mirror]);
    for (const at of reached) {
      for (const { to } of leaving.get(at) ?? []) if (to !== own) reached.add(to);
    }
    for (const id of reached) inside.add(id);
  }
  return new Set(nfInstances({ nodes }).flatMap(({ id, node_id }) => (inside.has(id) ? [node_id] : [])));
}

function leastOfEach({ descriptors, infrastructure }: Hardware, definition: ChainDefinition) {
  const catalogue = indexDescriptors(descriptors);
  const nfs = descriptorsByNode(definition);
  const ghz = fastestGhz(infrastructure);
  const bytes = definition.traffic_class.packet_bytes;
  return (id: string) => {
    const descriptor = configuredNf(catalogue.get(nfs.get(id)!)!, definition, id);
    const onCores = [softwareImplementation(descriptor), containerImplementation(descriptor)].flatMap((it) =>
      it ? [{ fixed: it.cost.base_latency_us, service: serviceUs(it.cost, bytes, ghz) }] : [],
    );
    const onBoard = boardImplementation(descriptor);
    const slots = (onBoard ? infrastructure.boards : []).map(({ latency_us, clock_mhz, attached }) => ({
      // At a switch it may come before the first engine, where the measured time begins.
      fixed: attached === 'switch' ? 0 : latency_us + slotTimeUs(onBoard!, bytes, clock_mhz),
      service: attached === 'switch' ? 0 : serviceUs(costOnCore(descriptor, 'board'), bytes, ghz),
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
