import type { MergeNode, MirrorNode, ParallelForm, Plan } from '@orrery/contract';
import { isParallel } from './why-sequential.js';

/** The mirrors and merges of a chain in a plan. */
export function jointsOf({ graph }: Pick<Plan, 'graph'>, chainId: string): (MirrorNode | MergeNode)[] {
  return graph.nodes.flatMap((node) =>
    (node.kind === 'mirror' || node.kind === 'merge') && node.chain_id === chainId ? [node] : [],
  );
}

/** Most copies that are made of a packet on its way through the chain, as it would run in parallel. */
export function copiesOf(forms: readonly ParallelForm[]): number {
  return Math.max(0, ...forms.filter(isParallel).map(({ copies }) => copies));
}
