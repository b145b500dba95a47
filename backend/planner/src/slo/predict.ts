import type { Infrastructure, NfDescriptor, Plan, PlannedPipeline } from '@orrery/contract';
import { pgraphNodeId } from '../igraph/pgraph.js';
import { cyclesPerPacket } from '../igraph/sizing.js';
import { indexDescriptors } from '../pipeline/attributes.js';
import { graphOf, topologicalOrder } from '../pipeline/graph.js';
import { softwareImplementation } from '../pipeline/implementation.js';
import type { Bin } from '../placement/problem.js';
import { gammaQuantile } from './gamma.js';

type SloPrediction = Plan['slos'][number];

/** Engine to switch to engine without the links' own delay: two port crossings and one rule. */
export const FABRIC_HOP_US = 50;

/**
 * Mean of what the first packet of a core that slept waits beyond its service: caches are cold and the worker has to run
 * again. Exponential; measured in the twin on a quiet machine (docs/benchmarks.md, chain latency).
 */
export const WAKE_UP_US = 8;

const LATENCY_MODEL =
  'processor sharing (M/G/1-PS) on each core, with an exponential wake-up of mean 8 us where the core sleeps + base latency + 50 us and the link delays a fabric hop; percentile of a gamma distribution with the same mean and variance';

export interface PredictionInput {
  readonly pipelines: readonly PlannedPipeline[];
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly bins: readonly Bin[];
  readonly instances: Plan['instances'];
  readonly edges: Plan['edges'];
  readonly returning: ReadonlySet<string>;
}

/** What each objective will measure if the rate estimates hold, for every pipeline of the plan. */
export function predictSlos(input: PredictionInput): SloPrediction[] {
  return input.pipelines.flatMap(({ pipeline_id, definition }) =>
    definition.slos.map((slo): SloPrediction => {
      const common = { pipeline_id, slo_id: slo.id };
      if (slo.kind === 'latency') {
        const { mean_us, variance_us2, least_us } = latencyOf(input, pipeline_id);
        const tail = gammaQuantile(slo.percentile / 100, mean_us - least_us, variance_us2);
        const predicted = least_us + tail;
        const met = predicted <= slo.max_us;
        return { ...common, kind: 'latency', target: slo.max_us, predicted, unit: 'us', met, model: LATENCY_MODEL };
      }
      const { bps, bottleneck } = throughputOf(input, pipeline_id, definition.traffic_class.rate_bps);
      const model = `rate at which the first resource is full, the other pipelines at their estimates: ${bottleneck}`;
      const met = bps >= slo.min_bps;
      return { ...common, kind: 'throughput', target: slo.min_bps, predicted: bps, unit: 'bps', met, model };
    }),
  );
}

/** Mean and variance of the time from the first engine to the exit over all packets of a class, and its fixed minimum. */
export function latencyOf(
  input: PredictionInput,
  pipelineId: string,
): { mean_us: number; variance_us2: number; least_us: number } {
  const catalogue = indexDescriptors(input.descriptors);
  const { definition } = input.pipelines.find(({ pipeline_id }) => pipeline_id === pipelineId)!;
  const bytes = definition.traffic_class.packet_bytes;
  const ghz = new Map(input.infrastructure.servers.map((server) => [server.id, server.ghz]));
  const busy = coreUse(input.instances);
  const own = input.instances.filter(({ pipeline_id }) => pipeline_id === pipelineId);
  const byNode = grouped(own, ({ pgraph_node }) => pgraph_node);
  const server = new Map(input.instances.map((instance) => [instance.id, instance.server]));
  const leaving = grouped(input.edges, ({ from }) => from ?? '');

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
  for (const edge of input.edges) {
    const first = edge.from === null && own.find(({ id }) => id === edge.to);
    if (!first) continue;
    const wake = wakeUp(busy.get(coreKey(first))!);
    arrive(first.id, weightOf(edge), wake.mean_us, wake.variance_us2 + wake.mean_us ** 2, 0);
  }
  for (const node of topologicalOrder(graphOf(definition)) ?? []) {
    for (const instance of byNode.get(pgraphNodeId(definition.name, node)) ?? []) {
      const at = arrivals.get(instance.id);
      if (!at) continue;
      const { cost } = softwareImplementation(catalogue.get(instance.nf)!)!;
      const service = cyclesPerPacket(cost, bytes) / (ghz.get(instance.server)! * 1e3);
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

function hopDelay({ links }: Infrastructure, ...servers: string[]): number {
  const delay = (server: string) => links.find(({ a, b }) => a.node === server || b.node === server)?.delay_us ?? 0;
  return servers.reduce((sum, server) => sum + delay(server), FABRIC_HOP_US);
}

function coreKey({ server, core }: Pick<Plan['instances'][number], 'server' | 'core'>): string {
  return `${server}/${core}`;
}

function coreUse(instances: Plan['instances']): Map<string, number> {
  const use = new Map<string, number>();
  for (const instance of instances) use.set(coreKey(instance), (use.get(coreKey(instance)) ?? 0) + instance.core_share);
  return use;
}

/** The class rate at which a core or a link direction is full while the other pipelines stay at their estimates. */
export function throughputOf(
  input: PredictionInput,
  pipelineId: string,
  classRateBps: number,
): { bps: number; bottleneck: string } {
  if (classRateBps === 0) return { bps: 0, bottleneck: 'the class has no rate estimate' };
  const mine = new Map<string, number>();
  const all = new Map<string, number>();
  const pipelineOf = new Map(input.instances.map((instance) => [instance.id, instance.pipeline_id]));
  const server = new Map(input.instances.map((instance) => [instance.id, instance.server]));
  const add = (resource: string, amount: number, owner: string) => {
    all.set(resource, (all.get(resource) ?? 0) + amount);
    if (owner === pipelineId) mine.set(resource, (mine.get(resource) ?? 0) + amount);
  };
  const capacity = new Map(input.bins.map(({ id, link_bps }) => [id, link_bps]));
  for (const instance of input.instances) {
    add(`core ${coreKey(instance)}`, instance.core_share, instance.pipeline_id);
    if (!input.returning.has(instance.id)) continue;
    for (const way of ['into', 'out of']) {
      add(`link ${way} ${instance.server}`, instance.load_bps / capacity.get(instance.server)!, instance.pipeline_id);
    }
  }
  for (const { from, to, rate_bps } of input.edges) {
    const owner = pipelineOf.get((from ?? to)!);
    const [a, b] = [from === null ? null : server.get(from)!, to === null ? null : server.get(to)!];
    if (owner === undefined || a === b) continue;
    if (a !== null) add(`link out of ${a}`, rate_bps / capacity.get(a)!, owner);
    if (b !== null) add(`link into ${b}`, rate_bps / capacity.get(b)!, owner);
  }
  let bps = 1e13;
  let bottleneck = 'nothing is in the way';
  for (const [resource, part] of mine) {
    if (part === 0) continue;
    const limit = (classRateBps * (1 - (all.get(resource)! - part))) / part;
    if (limit < bps) {
      bps = Math.max(0, limit);
      bottleneck = resource;
    }
  }
  return { bps, bottleneck };
}
