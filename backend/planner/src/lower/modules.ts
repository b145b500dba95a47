import type { ModuleSpec } from '@orrery/contract';
import { formNodeOf } from '../igraph/graph.js';
import type { LoweringInput } from './input.js';
import { Outputs } from './outputs.js';

/** What servers run besides NFs, by server: mirrors and merges of parallel steps, and queues of planned schedules. */
export function moduleSpecs(input: LoweringInput): Map<string, ModuleSpec[]> {
  const { nodes, edges } = input.graph;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const specs = new Map<string, ModuleSpec[]>();
  for (const chain of input.chains) {
    const outputs = new Outputs(input, chain);
    for (const node of nodes.filter(({ chain_id }) => chain_id === chain.chain_id)) {
      const spec = specOf(node);
      if (spec && 'server' in node) specs.set(node.server, [...(specs.get(node.server) ?? []), spec]);
    }

    function specOf(node: (typeof nodes)[number]): ModuleSpec | null {
      if (node.kind === 'mirror') {
        const { kind, id, chain_id, core } = node;
        return { kind, id, chain_id, core, copies: outputs.of(id, ({ to }) => formNodeOf(byId.get(to)!)) };
      }
      if (node.kind === 'merge') {
        const { kind, id, chain_id, core, mirror } = node;
        const copies = new Set(edges.filter(({ to }) => to === id).map(({ from }) => formNodeOf(byId.get(from!)!)));
        const leaving = outputs.of(id, ({ pgraph_edge }) => pgraph_edge!);
        return { kind, id, chain_id, core, mirror, arrivals: copies.size, outputs: leaving };
      }
      if (node.kind === 'queue') {
        const { kind, id, chain_id, core } = node;
        return { kind, id, chain_id, core, outputs: outputs.of(id, ({ pgraph_edge }) => pgraph_edge!) };
      }
      return null;
    }
  }
  return specs;
}
