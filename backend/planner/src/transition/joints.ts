import type { InstanceGraph, MergeNode, MirrorNode, Plan, SplitNode } from '@orrery/contract';

function jointsOf(graph: Pick<InstanceGraph, 'nodes'> | undefined): (MirrorNode | MergeNode | SplitNode)[] {
  return graph?.nodes.filter((node) => node.kind === 'mirror' || node.kind === 'merge' || node.kind === 'split') ?? [];
}

/**
 * The mirrors, merges and splits that run on another server or core than before. They keep their ids, since no state
 * migrates: copies on their way to a merge that moves may miss each other, and a split forgets which flows it has seen.
 */
export function movedJoints(base: Pick<Plan, 'graph'> | null, graph: Pick<InstanceGraph, 'nodes'>): string[] {
  const before = new Map(jointsOf(base?.graph).map((node) => [node.id, node]));
  return jointsOf(graph).flatMap(({ id, server, core }) => {
    const was = before.get(id);
    return was && (was.server !== server || was.core !== core) ? [id] : [];
  });
}
