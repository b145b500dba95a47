import { crossesServers, type GraphEdge, type Plan } from '@orrery/contract';

/** Traffic from one server to another that crosses the switch. */
export interface CutTraffic {
  readonly from: string;
  readonly to: string;
  readonly rate_bps: number;
  readonly edges: readonly GraphEdge[];
}

/** What crosses the switch between servers, by the servers, the most first. */
export function cutTraffic(plan: Plan): CutTraffic[] {
  const byPair = new Map<string, CutTraffic>();
  for (const edge of plan.graph.edges.filter(crossesServers)) {
    const { from_server, to_server: to } = edge;
    const from = from_server!;
    const key = `${from}\n${to}`;
    const before = byPair.get(key) ?? { from, to, rate_bps: 0, edges: [] };
    byPair.set(key, { ...before, rate_bps: before.rate_bps + edge.rate_bps, edges: [...before.edges, edge] });
  }
  return [...byPair.values()].sort((a, b) => b.rate_bps - a.rate_bps);
}
