import {
  type ChainingStrategy,
  type ClassForecast,
  crossesServers,
  type GraphEdge,
  nfInstances,
  type Plan,
  type PlannedChain,
  type Quality,
} from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import type { Path } from '../check/paths.js';
import { threeDigits } from '../figures.js';
import { grouped } from '../grouped.js';
import { type PlacedNode, placedNodes } from '../igraph/graph.js';
import { partOf } from '../igraph/parts.js';
import { CORE_BUDGET } from '../igraph/sizing.js';
import { costOfNode, reassemblies } from '../slo/instance-cost.js';
import { hopDelay, serviceUs } from '../slo/latency.js';
import { coreKey, coreUse, type PlacedInput } from '../slo/placed.js';
import { type ChainAnswer, chain } from './chain.js';
import { prepareNetwork } from './network.js';
import type { ChainInstance, ChainNetwork } from './problem.js';

/** Assumed demand of a flow without other information. */
const FLOW_BPS = 1_000_000;
/** Labels looked at for the way of a flow. */
const FLOW_STEPS = 500_000;
/** Latency limit if no objective sets one. */
const NO_BOUND_US = 1e9;

interface FlowWay {
  readonly way: ClassForecast['way'];
  readonly quality: Quality | null;
  readonly reason: Plan['reasons'][number] | null;
}

/** The route of a flow of the class over the placed instances (HYPER IV-B); none where NFs run in parallel. */
export function flowWay(
  input: PlacedInput,
  planned: PlannedChain,
  path: Path,
  {
    strategy,
    seed,
    expired,
  }: { readonly strategy: ChainingStrategy; readonly seed: number; readonly expired?: () => boolean },
): FlowWay {
  if (path.nodes.length === 0) return { way: null, quality: null, reason: null };
  const wired = networkOf(input, planned, path);
  if (!wired) return { way: null, quality: null, reason: null };
  const { instances, network } = wired;
  const { rate_bps } = planned.definition.traffic_class;
  const outside = network.nodes.length - 1;
  const answer = chain(
    prepareNetwork(network),
    {
      functions: path.nodes.map((_, stage) => stage),
      ingress: outside,
      egress: outside,
      throughput_bps: Math.max(1, Math.min(FLOW_BPS, rate_bps)),
      latency_us: NO_BOUND_US,
    },
    { strategy, seed, budget: { steps: FLOW_STEPS, expired } },
  );
  if (answer.latency_us === null || answer.latency_us > NO_BOUND_US)
    return { way: null, quality: null, reason: noWay(path, answer) };
  const latency_us = answer.latency_us;
  const bound_us = answer.lower_bound_us ?? 0;
  const names = answer.path.map((candidate) => instances[candidate]!.id);
  const gap = latency_us > 0 ? Math.max(0, 1 - bound_us / latency_us) : 0;
  return {
    way: { instances: names, latency_us, bound_us },
    quality: {
      part: 'chaining',
      subject: path.id,
      objective: 'latency of a flow',
      unit: 'us',
      value: latency_us,
      bound: bound_us,
      gap,
      optimal: gap < 1e-9,
      method: strategy,
      proof: answer.proof,
    },
    reason: reasonOf(path, instances, names, answer),
  };
}

/**
 * Each instance is a separate node, and one external node is where traffic enters and leaves; each NF of the path is a
 * function. Routes are those that the plan wires: flows are steered by hash, so a strategy selects a flow's hash. `null`:
 * packets are copied, so that they have more than one way.
 */
function networkOf(input: PlacedInput, chain: PlannedChain, path: Path) {
  const { servers } = input.infrastructure;
  const catalogue = indexDescriptors(input.descriptors);
  const busy = coreUse(input.graph);
  const bytes = chain.definition.traffic_class.packet_bytes;
  const ghz = new Map(servers.map((server) => [server.id, server.ghz]));
  const own = nfInstances(input.graph).filter(
    ({ chain_id, node_id }) => chain_id === chain.chain_id && path.nodes.includes(node_id),
  );
  const places = reassemblies(input.graph, input.descriptors);
  /** What a packet spends in a node. */
  const timeUs = (it: PlacedNode) => {
    const cost = costOfNode(it, catalogue, input.infrastructure, chain.definition, places.has(it.id));
    const idle = 1 - Math.min(0.999, busy.get(coreKey(it))!);
    return cost.base_latency_us + serviceUs(cost, bytes, ghz.get(it.server)!) / idle;
  };
  const instances = own.map((it, node): ChainInstance => {
    const use = busy.get(coreKey(it))!;
    const spare = it.core_share > 0 ? (Math.max(0, CORE_BUDGET - use) * it.load_bps) / it.core_share : FLOW_BPS;
    return {
      id: it.id,
      function: path.nodes.indexOf(it.node_id),
      node,
      latency_us: timeUs(it),
      throughput_free_bps: it.load_bps + spare,
      capacity_per_chain: 0,
      capacity_per_bps: 0,
    };
  });
  const outside = own.length;
  const nodes = [...own.map(({ id }) => id), 'outside'].map((id) => ({ id, capacity_free: 0, capacity_unit: 'cores' }));
  const index = new Map(own.map(({ id }, i) => [id, i]));
  const transit_us = nodes.map(() => nodes.map(() => Number.POSITIVE_INFINITY));
  const onPath = new Set(path.edges.map((edge) => `${chain.definition.name}.${edge}`));
  const part = partOf(input.graph, chain.chain_id);
  const exits = new Set(part.nodes.filter(({ kind }) => kind === 'exit').map(({ id }) => id));
  const joints = new Map(placedNodes(part).flatMap((node) => (node.kind === 'nf' ? [] : [[node.id, node]])));
  const edges = part.edges.filter(({ pgraph_edge }) => pgraph_edge !== null && onPath.has(pgraph_edge));
  if (edges.some(({ to }) => joints.get(to)?.kind === 'mirror')) return null;
  const leaving = grouped(edges, ({ from }) => from ?? '');
  const hop = (edge: GraphEdge) =>
    crossesServers(edge) ? hopDelay(input.infrastructure, edge.from_server!, edge.to_server, input.calibration) : 0;
  /** Where packets of an edge come to, through splits and queues, and when. */
  const ends = (edge: GraphEdge, since_us: number): { to: string; us: number }[] => {
    const us = since_us + hop(edge);
    const joint = joints.get(edge.to);
    if (!joint) return [{ to: edge.to, us }];
    return (leaving.get(joint.id) ?? []).flatMap((next) => ends(next, us + timeUs(joint)));
  };
  for (const edge of edges) {
    const from = edge.from === null ? outside : index.get(edge.from);
    if (from === undefined) continue;
    for (const { to: id, us } of ends(edge, 0)) {
      const to = exits.has(id) ? outside : index.get(id);
      if (to !== undefined) transit_us[from]![to] = us;
    }
  }
  const network: ChainNetwork = { functions: [...path.nodes], nodes, instances, options: [], transit_us };
  return { instances, network };
}

/** Why no route over the instances was found. */
function noWay(path: Path, { conflict }: ChainAnswer): FlowWay['reason'] {
  return {
    part: 'chaining',
    subject: path.id,
    decision: 'no way',
    because: conflict
      ? 'No path through the instances has room for the flow.'
      : 'The strategy found no path through the instances.',
    candidates: [],
    constraint: conflict?.shortages[0] ?? null,
  };
}

/** Only if there was a choice. */
function reasonOf(
  path: Path,
  instances: readonly ChainInstance[],
  names: readonly string[],
  answer: ChainAnswer,
): FlowWay['reason'] {
  if (instances.length === path.nodes.length) return null;
  const candidates = answer.stages.flatMap(({ candidate, processing_us, rejected }) => [
    {
      name: instances[candidate]!.id,
      chosen: true,
      feasible: true,
      figure: processing_us,
      unit: 'us',
      constraint: null,
    },
    ...rejected.map((it) => ({
      name: instances[it.candidate]!.id,
      chosen: false,
      feasible: it.constraint.constraint === 'latency',
      figure: instances[it.candidate]!.latency_us,
      unit: 'us',
      constraint: it.constraint,
    })),
  ]);
  return {
    part: 'chaining',
    subject: path.id,
    decision: names.join(', '),
    because: `With queueing only at its cores, a flow takes ${threeDigits(answer.latency_us!)} µs.`,
    candidates,
    constraint: null,
  };
}
