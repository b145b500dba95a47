import type { SplitSample, Target } from '@orrery/contract';

type Named = Pick<SplitSample, 'from_id' | 'edge_id'>;

export const splitName = ({ from_id, edge_id }: Named): string => `${from_id} ${edge_id}`;

export function targetName(to: Target): string {
  if (to.kind === 'instance') return `instance ${to.instance_id}`;
  return to.kind === 'hop' ? `hop ${to.hop}` : `exit ${to.exit_id}`;
}

/**
 * The splits of one report. Counters stay with the place of an edge among the outputs of its instance (engines) or with table
 * entries (switches), whatever the edge is called: by its name alone, a counter may be taken for that of another edge.
 */
export class SplitLayout {
  /** Edges in their order, by what they leave. */
  private readonly edges = new Map<string, string[]>();
  /** By split. */
  private readonly targets = new Map<string, readonly string[]>();

  constructor(splits: readonly SplitSample[]) {
    for (const { from_id, edge_id, targets } of splits) {
      const edges = this.edges.get(from_id);
      if (edges) edges.push(edge_id);
      else this.edges.set(from_id, [edge_id]);
      this.targets.set(
        splitName({ from_id, edge_id }),
        targets.map(({ to }) => targetName(to)),
      );
    }
  }

  /**
   * Names of splits whose counters may have been another edge's in the report before: other edges leave the same instance now,
   * or a split that led to one of the same targets is gone.
   */
  renamedSince(before: SplitLayout): ReadonlySet<string> {
    const renamed = new Set<string>();
    for (const [from_id, edges] of this.edges) {
      const then = before.edges.get(from_id);
      if (then && !(then.length === edges.length && then.every((edge, i) => edge === edges[i])))
        for (const edge_id of edges) renamed.add(splitName({ from_id, edge_id }));
    }
    const left = new Set([...before.targets].flatMap(([name, targets]) => (this.targets.has(name) ? [] : targets)));
    for (const [name, targets] of this.targets)
      if (!before.targets.has(name) && targets.some((target) => left.has(target))) renamed.add(name);
    return renamed;
  }
}
