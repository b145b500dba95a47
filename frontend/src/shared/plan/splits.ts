import { FLOW_SPACE, type FlowRange, type Plan } from '@orrery/contract';

/** One target of a split output. */
export interface SplitPart {
  readonly to: string;
  readonly server: string;
  readonly ranges: readonly FlowRange[];
}

/** An output whose flows are spread over several targets, by ranges of a hash in [0, 65536) (E2 3.4.4). */
export interface Split {
  readonly id: string;
  /** Fields whose hash selects the target. */
  readonly key: readonly string[];
  readonly parts: readonly SplitPart[];
}

/** The split outputs of an instance or a mirror, merge or queue. */
export function splitsOf({ graph }: Pick<Plan, 'graph'>, id: string): Split[] {
  const outputs = new Map<string, Plan['graph']['edges']>();
  for (const edge of graph.edges) {
    if (edge.from !== id || edge.key.length === 0) continue;
    const output = `${edge.pgraph_edge ?? ''} ${edge.direction} ${edge.copy ?? ''}`;
    outputs.set(output, [...(outputs.get(output) ?? []), edge]);
  }
  return [...outputs.values()].flatMap((edges): Split[] => {
    const parts = new Map<string, SplitPart>();
    for (const { to, to_server: server, range } of edges.toSorted((a, b) => a.range.lo - b.range.lo))
      parts.set(to, { to, server, ranges: [...(parts.get(to)?.ranges ?? []), range] });
    const [first] = edges;
    return parts.size > 1 ? [{ id: first!.pgraph_edge ?? first!.id, key: first!.key, parts: [...parts.values()] }] : [];
  });
}

/** Share of the hash range that the ranges hold: of flows only where there are many, of packets by no means. */
export function shareOfHash(ranges: readonly FlowRange[]): number {
  return ranges.reduce((sum, { lo, hi }) => sum + hi - lo, 0) / FLOW_SPACE;
}
