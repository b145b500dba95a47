import type { ClassForecast, Plan, PlannedPipeline } from '@orrery/contract';
import { type Path, pathsOf } from '../pipeline/paths.js';
import { leastTimeUs } from './attainable.js';
import { latencyOf } from './latency.js';
import type { PlacedInput } from './placed.js';
import { percentileUs } from './predict.js';
import { throughputOf } from './throughput.js';

/** Latency and throughput of each traffic class; none for a pipeline with more classes than are told apart. */
export function classForecasts(
  input: PlacedInput,
  wayOf: (pipeline: PlannedPipeline, path: Path) => ClassForecast['way'],
): ClassForecast[] {
  return input.pipelines.flatMap((pipeline) =>
    (pathsOf(pipeline.definition) ?? []).map((path) => {
      const { pipeline_id } = pipeline;
      const latency = latencyOf(input, pipeline_id, path);
      const rate_bps = classRate(input.pgraph, pipeline, path);
      const { bps, bottleneck } = throughputOf(input, { pipeline_id, rate_bps, path });
      return {
        id: path.id,
        pipeline_id,
        edges: [...path.edges],
        nodes: [...path.nodes],
        rate_bps,
        mean_us: latency.mean_us,
        p99_us: percentileUs(latency, 0.99),
        least_us: leastTimeUs(input, pipeline.definition, path.nodes),
        throughput_bps: bps,
        bottleneck,
        way: wayOf(pipeline, path),
      };
    }),
  );
}

/** What of the pipeline's estimate takes the path: at each node its edge's part of what leaves. */
export function classRate(pgraph: Plan['pgraph'], { definition }: PlannedPipeline, path: Path): number {
  const rate = new Map(pgraph.edges.map((edge) => [edge.id, edge.rate_bps]));
  const rateOf = (id: string) => rate.get(`${definition.name}.${id}`) ?? 0;
  const from = new Map(definition.edges.map((edge) => [edge.id, edge.from]));
  const leaving = (node: string) =>
    definition.edges.filter((edge) => edge.from === node).reduce((sum, edge) => sum + rateOf(edge.id), 0);
  return path.edges.reduce((arriving, edge) => {
    const total = leaving(from.get(edge)!);
    return total > 0 ? (arriving * rateOf(edge)) / total : 0;
  }, definition.traffic_class.rate_bps);
}
