import type { ClassForecast, Plan, PlannedChain } from '@orrery/contract';
import { type Path, pathsOf } from '../check/paths.js';
import { indexOf } from '../igraph/pgraph.js';
import type { PlacedInput } from './placed.js';
import { throughputOf } from './throughput.js';

/** Latency and throughput of each path class; none for a chain with too many classes. */
export function classForecasts(
  input: PlacedInput,
  latencyFor: (chain: PlannedChain, path: Path) => Pick<ClassForecast, 'mean_us' | 'p50_us' | 'p99_us' | 'least_us'>,
  wayOf: (chain: PlannedChain, path: Path) => ClassForecast['way'],
): ClassForecast[] {
  return input.chains.flatMap((chain) =>
    (pathsOf(chain.definition) ?? []).map((path) => {
      const { chain_id } = chain;
      const { mean_us, p50_us, p99_us, least_us } = latencyFor(chain, path);
      const rate_bps = classRate(input.pgraph, chain, path);
      const { bps, bottleneck } = throughputOf(input, { chain_id, rate_bps, path });
      return {
        id: path.id,
        chain_id,
        edges: [...path.edges],
        nodes: [...path.nodes],
        rate_bps,
        mean_us,
        p50_us,
        p99_us,
        least_us,
        throughput_bps: bps,
        bottleneck,
        way: wayOf(chain, path),
      };
    }),
  );
}

/** What of the chain's estimate takes the path: at each node its edge's part of what leaves. */
export function classRate(pgraph: Plan['pgraph'], { definition }: PlannedChain, path: Path): number {
  const { edges } = indexOf(pgraph);
  const rateOf = (id: string) => edges.get(`${definition.name}.${id}`)?.rate_bps ?? 0;
  const from = new Map(definition.edges.map((edge) => [edge.id, edge.from]));
  const leaving = (node: string) =>
    definition.edges.filter((edge) => edge.from === node).reduce((sum, edge) => sum + rateOf(edge.id), 0);
  return path.edges.reduce((arriving, edge) => {
    const total = leaving(from.get(edge)!);
    return total > 0 ? (arriving * rateOf(edge)) / total : 0;
  }, definition.traffic_class.rate_bps);
}
