import type { GraphEdge, InstanceGraph, ModuleSpec } from '@orrery/contract';
import type { Outputs } from './outputs.js';

type ModuleNode = Exclude<InstanceGraph['nodes'][number], { kind: 'nf' | 'exit' }>;

/**
 * What a server is told of a mirror or merge of a parallel step, a queue of a planned schedule, or a split, whose packets
 * leave a queue for several instances.
 */
export function moduleSpec({ nodes }: Pick<InstanceGraph, 'nodes'>, node: ModuleNode, outputs: Outputs): ModuleSpec {
  const { id, chain_id, core } = node;
  const own = { id, chain_id, core };
  switch (node.kind) {
    case 'mirror': {
      const merge = nodes.find((it) => it.kind === 'merge' && it.mirror === id);
      const { branches } = merge as Extract<ModuleNode, { kind: 'merge' }>;
      const { own: single, away } = outputs.copies(node);
      const writes = ({ copy }: GraphEdge) => branches[copy!]!.writes;
      const together = away && { ...away.output, writes: away.edges.some(writes) };
      return {
        kind: node.kind,
        ...own,
        nested: node.within !== null,
        copies: [
          ...single.map((one) => ({ ...one.output, writes: writes(one.edge) })),
          ...(together ? [together] : []),
        ],
      };
    }
    case 'merge': {
      const noOp = outputs.noOp(id);
      return {
        kind: node.kind,
        ...own,
        nested: node.within !== null,
        mirror: node.mirror,
        branches: node.branches,
        outputs: outputs.of(id, ({ pgraph_edge }) => pgraph_edge!),
        ...(noOp ? { no_op_to: noOp } : {}),
      };
    }
    case 'split':
    case 'queue':
      return { kind: 'queue', ...own, outputs: outputs.of(id, ({ pgraph_edge }) => pgraph_edge!) };
  }
}
