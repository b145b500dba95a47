import { type FabricSpec, type GraphNode, type Infrastructure, type Plan, sampleKey } from '@orrery/contract';

/** From where packets are passed on to where they should arrive next. Counters are sample keys. */
export interface Section {
  readonly chain_id: string;
  readonly from: { readonly label: string; readonly passes: readonly string[] };
  readonly to: { readonly label: string; readonly receives: readonly string[] };
}

/** The sections of every chain of a plan, in the forward direction. */
export function sectionsOf(
  { graph, fabric, chains }: { graph: Plan['graph']; fabric: FabricSpec; chains: readonly { chain_id: string }[] },
  switches: Infrastructure['switches'],
): Section[] {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const after = (id: string | null): GraphNode[] =>
    graph.edges.flatMap(({ from, to, direction }) => {
      const next = nodes.get(to);
      return from === id && direction === 'forward' && next ? [next] : [];
    });
  return chains.flatMap(({ chain_id }) => {
    const first = graph.edges
      .filter((edge) => edge.chain_id === chain_id && edge.from === null && edge.direction === 'forward')
      .flatMap(({ to }) => nodes.get(to) ?? []);
    const rules = fabric.rules.filter((rule) => rule.chain_id === chain_id && rule.kind === 'classify');
    const classified = switches.flatMap(({ id }) => rules.map((rule) => sampleKey('rule', `${id} ${rule.id}`, 'pps')));
    const entry: Section = {
      chain_id,
      from: { label: 'the switch', passes: classified },
      to: endOf(chain_id, counted(first, after)),
    };
    const own = graph.nodes.flatMap((node): Section[] => {
      if (node.chain_id !== chain_id || node.kind !== 'nf') return [];
      // What it passes on includes replies, which leave by an exit that is not counted here.
      if (graph.edges.some(({ from, direction }) => from === node.id && direction === 'return')) return [];
      const next = counted(after(node.id), after);
      if (next.length === 0) return [];
      const from = { label: labelOf(node), passes: [sampleKey('instance', node.id, 'out_pps')] };
      return [{ chain_id, from, to: endOf(chain_id, next) }];
    });
    return [entry, ...own];
  });
}

/** The nearest nodes that count packets: NFs and exits. None behind a merge: it drops what another branch has dropped. */
function counted(nodes: readonly GraphNode[], after: (id: string) => GraphNode[]): GraphNode[] {
  return nodes.flatMap((node) => {
    if (node.kind === 'merge') return [];
    return node.kind === 'nf' || node.kind === 'exit' ? [node] : counted(after(node.id), after);
  });
}

function endOf(chainId: string, nodes: readonly GraphNode[]): Section['to'] {
  const receives = nodes.map((node) =>
    node.kind === 'exit' ? sampleKey('chain', chainId, 'pps') : sampleKey('instance', node.id, 'pps'),
  );
  return { label: [...new Set(nodes.map(labelOf))].join(' or '), receives: [...new Set(receives)] };
}

function labelOf(node: GraphNode): string {
  return node.kind === 'exit' ? 'the exit' : `${node.id} (${node.server})`;
}
