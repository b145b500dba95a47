import type { GraphNode, Plan } from '@orrery/contract';

/** What a server runs besides NFs: mirrors, merges and queues. */
export type JointKind = Exclude<GraphNode['kind'], 'nf' | 'exit'>;

/** A mirror, merge or queue of any running chain. */
export type RunningJoint = Extract<GraphNode, { readonly kind: JointKind }>;

/** Those of the plans that are in force. */
export function runningJoints(plans: readonly Pick<Plan, 'graph'>[]): RunningJoint[] {
  const all = plans.flatMap(({ graph }) =>
    graph.nodes.filter((node): node is RunningJoint => node.kind !== 'nf' && node.kind !== 'exit'),
  );
  return [...new Map(all.map((joint) => [joint.id, joint])).values()];
}
