import { type FabricSpec, type GraphNode, type Infrastructure, type Plan, sampleKey } from '@orrery/contract';
import { grouped } from '@orrery/planner';

/** From where packets are passed on to where they should arrive next. Counters are sample keys. */
export interface Section {
  readonly chain_id: string;
  /** From the hosts to the exit, not from place to place. */
  readonly isWhole: boolean;
  /** What does not arrive may have been dropped on purpose, and nothing counts that. */
  readonly mayRefuse: boolean;
  /** Servers at its ends, or of the whole chain. */
  readonly servers: readonly string[];
  /** Where its packets enter the fabric, hosts or a server, and the servers that they go to. */
  readonly way: { readonly from: readonly string[]; readonly to: readonly string[] };
  readonly from: { readonly label: string; readonly passes: readonly string[] };
  /** `servers`: those whose agents report what it receives. */
  readonly to: { readonly label: string; readonly receives: readonly string[]; readonly servers: readonly string[] };
}

/** Stands for the hosts, which no edge names. */
const HOSTS = '';

/** Counter of the packets that NFs of a chain refuse as they are configured; none that is reported under this name. */
export const refusedKey = (chainId: string) => `refused ${chainId}`;

/**
 * The sections of every chain of a plan, in the forward direction, from place to place, and one from the hosts to the exit: it also
 * covers NFs that let nothing out, and those whose packets cannot be told from replies.
 */
export function sectionsOf(
  { graph, fabric, chains }: { graph: Plan['graph']; fabric: FabricSpec; chains: readonly { chain_id: string }[] },
  switches: Infrastructure['switches'],
  countsRefusals: (chainId: string) => boolean = () => true,
): Section[] {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const edges = grouped(graph.edges, ({ from }) => from ?? HOSTS);
  const after: After = (id) =>
    (edges.get(id) ?? []).flatMap(({ to, direction }) => (direction === 'forward' ? (nodes.get(to) ?? []) : []));
  const first = grouped(after(HOSTS), ({ chain_id }) => chain_id);
  const rules = grouped(
    fabric.rules.filter(({ kind }) => kind === 'classify'),
    ({ chain_id }) => chain_id ?? '',
  );
  const entries = chains.map(({ chain_id }): Section => {
    const passes = switches.flatMap(({ id }) =>
      (rules.get(chain_id) ?? []).map((rule) => sampleKey('rule', `${id} ${rule.id}`, 'pps')),
    );
    const next = counted(first.get(chain_id) ?? [], after);
    const hosts = [...new Set((rules.get(chain_id) ?? []).flatMap(({ from_hosts }) => from_hosts))];
    const servers = serversOf(next);
    const from = { label: 'the switch', passes };
    const way = { from: hosts, to: servers };
    return { chain_id, isWhole: false, mayRefuse: false, servers, way, from, to: endOf(chain_id, next, servers) };
  });
  const ofNfs = graph.nodes.flatMap((node): Section[] => {
    if (node.kind !== 'nf') return [];
    // What it passes on includes replies, which leave by an exit that is not counted here.
    if (edges.get(node.id)?.some(({ direction }) => direction === 'return')) return [];
    const next = counted(after(node.id), after);
    const from = { label: labelOf(node), passes: [sampleKey('instance', node.id, 'out_pps')] };
    const way = { from: [node.server], to: serversOf(next) };
    const servers = serversOf([node, ...next]);
    // It reaches the exit on its own server.
    const to = endOf(node.chain_id, next, next.some(({ kind }) => kind === 'exit') ? servers : serversOf(next));
    return [{ chain_id: node.chain_id, isWhole: false, mayRefuse: false, servers, way, from, to }];
  });
  const whole = entries.map(({ chain_id, way, from }): Section => {
    const own = graph.nodes.filter((node) => node.chain_id === chain_id);
    const servers = serversOf(own);
    const isLeft = own.some((node) => node.kind === 'exit' && node.direction === 'forward');
    const receives = isLeft ? [sampleKey('chain', chain_id, 'pps'), refusedKey(chain_id)] : [];
    const to = { label: 'the exit', receives, servers };
    const ends = { from: [...way.from, ...servers], to: servers };
    return { chain_id, isWhole: true, mayRefuse: !countsRefusals(chain_id), servers, way: ends, from, to };
  });
  return [...entries, ...ofNfs, ...whole].filter(({ to }) => to.receives.length > 0);
}

/** The nodes to which a node, or the hosts, send packets in the forward direction. */
type After = (id: string) => GraphNode[];

/** The nearest nodes that count packets: NFs and exits. None behind a merge: it drops what another branch has dropped. */
function counted(nodes: readonly GraphNode[], after: After): GraphNode[] {
  return nodes.flatMap((node) => {
    if (node.kind === 'merge') return [];
    return node.kind === 'nf' || node.kind === 'exit' ? [node] : counted(after(node.id), after);
  });
}

function serversOf(nodes: readonly GraphNode[]): string[] {
  return [...new Set(nodes.flatMap((node) => (node.kind === 'exit' ? [] : node.server)))];
}

function endOf(chainId: string, nodes: readonly GraphNode[], servers: readonly string[]): Section['to'] {
  const receives = nodes.map((node) =>
    node.kind === 'exit' ? sampleKey('chain', chainId, 'pps') : sampleKey('instance', node.id, 'pps'),
  );
  return { label: [...new Set(nodes.map(labelOf))].join(' or '), receives: [...new Set(receives)], servers };
}

/** How an NF is named where it loses packets. */
export function labelOf(node: GraphNode): string {
  return node.kind === 'exit' ? 'the exit' : `${node.id} (${node.server})`;
}
