import type { CostProfile, Infrastructure, Plan } from '@orrery/contract';
import { pgraphNodeId } from '../igraph/pgraph.js';
import { cyclesPerPacket } from '../igraph/sizing.js';
import { indexDescriptors } from '../pipeline/attributes.js';
import { graphOf, topologicalOrder } from '../pipeline/graph.js';
import type { Path } from '../pipeline/paths.js';
import { costOf } from './instance-cost.js';
import { coreKey, coreUse, type PlacedInput } from './placed.js';

/** Engine to switch to engine without the links' own delay: two port crossings and one rule. */
export const FABRIC_HOP_US = 50;

/**
 * Mean of what the first packet of a core that slept waits beyond its service: caches are cold and the worker has to run
 * again. Exponential; measured in the twin on a quiet machine (docs/benchmarks.md, chain latency).
 */
export const WAKE_UP_US = 8;

/**
 * Mean and variance of the time from the first engine to the exit over all packets of a pipeline, or of one of its paths,
 * and its fixed minimum. Each core is an M/G/1 queue that shares its processor among the packets that it has (M/G/1-PS),
 * so that the mean sojourn is service / (1 - load) whatever the distribution of service; sojourns are taken as independent
 * and exponential, and a core that sleeps adds an exponential wake-up.
 */
export function latencyOf(
  input: PlacedInput,
  pipelineId: string,
  path: Path | null = null,
): { mean_us: number; variance_us2: number; least_us: number } {
  const catalogue = indexDescriptors(input.descriptors);
  const { definition } = input.pipelines.find(({ pipeline_id }) => pipeline_id === pipelineId)!;
  const bytes = definition.traffic_class.packet_bytes;
  const ghz = new Map(input.infrastructure.servers.map((server) => [server.id, server.ghz]));
  const busy = coreUse(input.instances);
  const own = input.instances.filter(({ pipeline_id }) => pipeline_id === pipelineId);
  const byNode = grouped(own, ({ pgraph_node }) => pgraph_node);
  const server = new Map(input.instances.map((instance) => [instance.id, instance.server]));
  const onPath = path && new Set(path.edges.map((edge) => `${definition.name}.${edge}`));
  const edges = onPath ? input.edges.filter(({ pgraph_edge }) => onPath.has(pgraph_edge)) : input.edges;
  const leaving = grouped(edges, ({ from }) => from ?? '');

  /** First and second moment of the time so far, over the packets that arrive somewhere. */
  const arrivals = new Map<string, { weight: number; first: number; second: number; least: number }>();
  const arrive = (at: string, weight: number, first: number, second: number, least: number) => {
    const known = arrivals.get(at) ?? { weight: 0, first: 0, second: 0, least: Number.POSITIVE_INFINITY };
    arrivals.set(at, {
      weight: known.weight + weight,
      first: known.first + weight * first,
      second: known.second + weight * second,
      least: Math.min(known.least, least),
    });
  };
  const EXIT = '';
  for (const edge of edges) {
    const first = edge.from === null && own.find(({ id }) => id === edge.to);
    if (!first) continue;
    const wake = wakeUp(busy.get(coreKey(first))!);
    arrive(first.id, weightOf(edge), wake.mean_us, wake.variance_us2 + wake.mean_us ** 2, 0);
  }
  for (const node of topologicalOrder(graphOf(definition)) ?? []) {
    for (const instance of byNode.get(pgraphNodeId(definition.name, node)) ?? []) {
      const at = arrivals.get(instance.id);
      if (!at) continue;
      const cost = costOf(instance, catalogue.get(instance.nf)!, input.infrastructure, bytes);
      const service = serviceUs(cost, bytes, ghz.get(instance.server)!);
      const sojourn = service / (1 - Math.min(0.999, busy.get(coreKey(instance))!));
      const first = at.first / at.weight;
      const fixed = cost.base_latency_us;
      const after = first + fixed + sojourn;
      const variance = at.second / at.weight - first * first + sojourn * sojourn;
      for (const edge of leaving.get(instance.id) ?? []) {
        const hop = edge.crosses_switch ? hopDelay(input.infrastructure, instance.server, server.get(edge.to!)!) : 0;
        const next = edge.crosses_switch ? input.instances.find(({ id }) => id === edge.to) : undefined;
        const wake = next ? wakeUp(busy.get(coreKey(next))!) : ALWAYS_AWAKE;
        const mean = after + hop + wake.mean_us;
        const second = variance + wake.variance_us2 + mean * mean;
        arrive(edge.to ?? EXIT, weightOf(edge), mean, second, at.least + fixed + hop);
      }
    }
  }
  const end = arrivals.get(EXIT);
  if (!end) return { mean_us: 0, variance_us2: 0, least_us: 0 };
  const mean_us = end.first / end.weight;
  return { mean_us, variance_us2: Math.max(0, end.second / end.weight - mean_us * mean_us), least_us: end.least };
}

const ALWAYS_AWAKE = { mean_us: 0, variance_us2: 0 };

/** Wait for a core that is busy for this share of the time and sleeps otherwise. */
function wakeUp(share: number): { mean_us: number; variance_us2: number } {
  const asleep = Math.max(0, 1 - share);
  const mean_us = asleep * WAKE_UP_US;
  return { mean_us, variance_us2: 2 * asleep * WAKE_UP_US ** 2 - mean_us ** 2 };
}

function grouped<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group) group.push(value);
    else groups.set(key, [value]);
  }
  return groups;
}

/** A branch without traffic still counts a little, so that its latency is not undefined. */
function weightOf(edge: Plan['edges'][number]): number {
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
