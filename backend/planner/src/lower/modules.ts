import type { InstanceGraph, ModuleSpec } from '@orrery/contract';
import { formNodeOf } from '../igraph/graph.js';
import type { Outputs } from './outputs.js';

type ModuleNode = Extract<InstanceGraph['nodes'][number], { kind: ModuleSpec['kind'] }>;

/** What a server is told of a mirror or merge of a parallel step, or a queue of a planned schedule. */
export function moduleSpec({ nodes, edges }: InstanceGraph, node: ModuleNode, outputs: Outputs): ModuleSpec {
  const { id, chain_id, core } = node;
  const formNode = (of: string | null) => formNodeOf(nodes.find((it) => it.id === of)!);
  switch (node.kind) {
    case 'mirror':
      return { kind: node.kind, id, chain_id, core, copies: outputs.of(id, ({ to }) => formNode(to)) };
    case 'merge': {
      const copies = new Set(edges.filter(({ to }) => to === id).map(({ from }) => formNode(from)));
      const leaving = outputs.of(id, ({ pgraph_edge }) => pgraph_edge!);
      return { kind: node.kind, id, chain_id, core, mirror: node.mirror, arrivals: copies.size, outputs: leaving };
    }
    case 'queue':
      return { kind: node.kind, id, chain_id, core, outputs: outputs.of(id, ({ pgraph_edge }) => pgraph_edge!) };
  }
}
