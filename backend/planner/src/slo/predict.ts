import type { Constraint, Plan, PlannedPipeline, Slo } from '@orrery/contract';
import { indexDescriptors } from '../pipeline/attributes.js';
import { softwareImplementation } from '../pipeline/implementation.js';
import { type Path, pathsOf } from '../pipeline/paths.js';
import { gammaQuantile } from './gamma.js';
import { latencyOf, serviceUs } from './latency.js';
import type { PlacedInput } from './placed.js';
import { throughputOf } from './throughput.js';

type SloPrediction = Plan['slos'][number];

const LATENCY_MODEL =
  'processor sharing (M/G/1-PS) on each core, with an exponential wake-up of mean 8 us where the core sleeps + base latency + 50 us and the link delays a fabric hop; percentile of a gamma distribution with the same mean and variance';

/** What each objective will measure if the rate estimates hold, for every pipeline of the plan. */
export function predictSlos(input: PlacedInput): SloPrediction[] {
  return input.pipelines.flatMap((pipeline) =>
    pipeline.definition.slos.map((slo) =>
      slo.kind === 'latency' ? predictLatency(input, pipeline, slo) : predictThroughput(input, pipeline, slo),
    ),
  );
}

function predictLatency(
  input: PlacedInput,
  pipeline: PlannedPipeline,
  { id, percentile, max_us }: Extract<Slo, { kind: 'latency' }>,
): SloPrediction {
  const { pipeline_id, definition } = pipeline;
  const predicted = percentileUs(latencyOf(input, pipeline_id), percentile / 100);
  const attainable = Math.min(
    ...(pathsOf(definition) ?? []).map((path) => leastLatencyUs(input, pipeline, path)),
    predicted,
  );
  const met = predicted <= max_us;
  const constraint: Constraint | null =
    attainable > max_us
      ? { constraint: 'latency', needed: attainable, available: max_us, unit: 'us', where: definition.name }
      : null;
  const common = { pipeline_id, slo_id: id, kind: 'latency', unit: 'us', model: LATENCY_MODEL } as const;
  return { ...common, target: max_us, predicted, attainable, met, constraint };
}

function predictThroughput(
  input: PlacedInput,
  { pipeline_id, definition }: PlannedPipeline,
  { id, min_bps }: Extract<Slo, { kind: 'throughput' }>,
): SloPrediction {
  const { bps, bottleneck } = throughputOf(input, { pipeline_id, rate_bps: definition.traffic_class.rate_bps });
  const model = `rate at which the first resource is full, the other pipelines at their estimates: ${bottleneck}`;
  const attainable = Math.max(bps, mostThroughputBps(input, pipeline_id, definition.traffic_class.rate_bps));
  const met = bps >= min_bps;
  const constraint: Constraint | null =
    attainable < min_bps
      ? { constraint: 'throughput', needed: min_bps, available: attainable, unit: 'bps', where: definition.name }
      : null;
  const common = { pipeline_id, slo_id: id, kind: 'throughput', unit: 'bps', model } as const;
  return { ...common, target: min_bps, predicted: bps, attainable, met, constraint };
}

/** A percentile (0 to 1) of a gamma distribution with this mean and variance above the fixed minimum. */
export function percentileUs(
  { mean_us, variance_us2, least_us }: ReturnType<typeof latencyOf>,
  percentile: number,
): number {
  return least_us + gammaQuantile(percentile, mean_us - least_us, variance_us2);
}

/** What the path takes on the fastest server without queue, wake-up or hop: no placement on this hardware is faster. */
export function leastLatencyUs(
  { descriptors, infrastructure }: PlacedInput,
  pipeline: PlannedPipeline,
  path: Path,
): number {
  const { definition } = pipeline;
  const catalogue = indexDescriptors(descriptors);
  const ghz = Math.max(...infrastructure.servers.map((server) => server.ghz));
  const nf = new Map(definition.nodes.flatMap((node) => (node.kind === 'nf' ? [[node.id, node.nf] as const] : [])));
  return path.nodes.reduce((sum, id) => {
    const { cost } = softwareImplementation(catalogue.get(nf.get(id)!)!)!;
    return sum + cost.base_latency_us + serviceUs(cost, definition.traffic_class.packet_bytes, ghz);
  }, 0);
}

/** The rate at which all links or all cores are full of this pipeline alone: no placement on this hardware carries more. */
function mostThroughputBps({ bins, instances }: PlacedInput, pipelineId: string, rateBps: number): number {
  const hz = new Map(bins.map((bin) => [bin.id, bin.hz]));
  const own = instances.filter(({ pipeline_id }) => pipeline_id === pipelineId);
  const cycles = own.reduce((sum, { core_share, server }) => sum + core_share * hz.get(server)!, 0);
  const all = bins.reduce((sum, { cores, hz: each }) => sum + cores * each, 0);
  const links = bins.reduce((sum, { link_bps }) => sum + link_bps, 0);
  return Math.min(links, cycles > 0 ? (rateBps * all) / cycles : links);
}
