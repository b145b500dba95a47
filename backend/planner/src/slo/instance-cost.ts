import type {
  ChainDefinition,
  CostProfile,
  Infrastructure,
  Instance,
  InstanceGraph,
  NfDescriptor,
} from '@orrery/contract';
import { costOnCore } from '../check/assigned-implementation.js';
import { configuredNf } from '../check/configured-nf.js';
import { boardImplementation, slotTimeUs } from '../check/implementation.js';
import { COPY, type EngineCost, MERGE, QUEUE } from '../engine-costs.js';
import type { PlacedNode } from '../igraph/graph.js';
import { bytestreams } from '../lower/bytestreams.js';
import { costOfSplit } from '../split-costs.js';
import { costSum, REASSEMBLY } from '../stream-costs.js';

/**
 * What an instance costs its core, with the fixed time that each packet takes: for one in a slot the board's own latency
 * and the time in the slot, whose chain takes packets one behind the other without a queue.
 */
export function costOf(
  instance: Pick<Instance, 'driver' | 'board' | 'node_id'>,
  descriptor: NfDescriptor,
  { boards }: Pick<Infrastructure, 'boards'>,
  definition: Pick<ChainDefinition, 'nodes' | 'traffic_class'>,
): CostProfile {
  const cost = costOnCore(configuredNf(descriptor, definition, instance.node_id), instance.driver, instance.board);
  const board = boards.find(({ id }) => id === instance.board?.board);
  if (!board) return cost;
  const slot_us = slotTimeUs(boardImplementation(descriptor)!, definition.traffic_class.packet_bytes, board.clock_mhz);
  return { ...cost, base_latency_us: board.latency_us + slot_us };
}

const ENGINE_COSTS = { queue: QUEUE, mirror: COPY, merge: MERGE };

/** What any node of the graph costs its core. A mirror or merge adds one copy's time; a queue's wait is its core's. */
export function costOfNode(
  node: PlacedNode,
  catalogue: ReadonlyMap<string, NfDescriptor>,
  infrastructure: Pick<Infrastructure, 'boards'>,
  definition: Pick<ChainDefinition, 'nodes' | 'traffic_class'>,
  /** TCP streams are reassembled in front of it. */
  reassembles: boolean,
): CostProfile {
  const cost =
    node.kind === 'nf'
      ? costOf(node, catalogue.get(node.nf)!, infrastructure, definition)
      : { ...engineCost(node), memory_bytes: 0, base_latency_us: 0 };
  return reassembles ? costSum(cost, REASSEMBLY) : cost;
}

function engineCost(node: Exclude<PlacedNode, Instance>): EngineCost {
  return node.kind === 'split' ? costOfSplit(node) : ENGINE_COSTS[node.kind];
}

const KNOWN_PLACES = new WeakMap<
  InstanceGraph,
  { readonly descriptors: readonly NfDescriptor[]; readonly places: ReadonlySet<string> }
>();

/** Nodes of a placed graph in front of which TCP streams are reassembled; found once for each graph and its descriptors. */
export function reassemblies(graph: InstanceGraph, descriptors: readonly NfDescriptor[]): ReadonlySet<string> {
  const known = KNOWN_PLACES.get(graph);
  if (known?.descriptors === descriptors) return known.places;
  const places = bytestreams(graph, descriptors);
  KNOWN_PLACES.set(graph, { descriptors, places });
  return places;
}
