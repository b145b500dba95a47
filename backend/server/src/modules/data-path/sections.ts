import {
  type FabricSpec,
  type GraphEdge,
  type GraphNode,
  type Infrastructure,
  isAtSwitch,
  type Plan,
  sampleKey,
  slotPlace,
} from '@orrery/contract';
import { grouped } from '@orrery/planner';
import { type Step, stepsOf } from './steps.js';

/** From where packets are passed on to where they should arrive next. Counters are sample keys. */
export interface Section {
  readonly chain_id: string;
  /** Between two places, from the mirror of a parallel step to its merge, or from the hosts to the exit. */
  readonly scope: 'hop' | 'step' | 'chain';
  /** The nodes that it joins or spans; `HOSTS` stands for the hosts. */
  readonly nodes: readonly string[];
  /** What does not arrive may have been dropped on purpose, and nothing counts that. */
  readonly mayRefuse: boolean;
  /** Servers, and slots at switches, at its ends, or of the whole chain. */
  readonly servers: readonly string[];
  /** Where its packets enter the fabric, hosts or one of these, and those that they go to. */
  readonly way: { readonly from: readonly string[]; readonly to: readonly string[] };
  readonly from: { readonly label: string; readonly passes: readonly string[] };
  /** `servers`: those whose agents report what it receives. */
  readonly to: { readonly label: string; readonly receives: readonly string[]; readonly servers: readonly string[] };
}

/** Stands for the hosts, which no edge names. */
export const HOSTS = '';

/** A node that counts the packets that it takes and those that it passes on. */
export type CountingNode = Exclude<GraphNode, { kind: 'exit' }>;

/** Packets that a node takes, and that it passes on: a mirror passes on one copy of each packet for every branch. */
export const takenKey = ({ kind, id }: CountingNode) =>
  kind === 'nf' ? sampleKey('instance', id, 'pps') : sampleKey('module', id, 'pps');
export const passedKey = ({ kind, id }: CountingNode) =>
  kind === 'nf' ? sampleKey('instance', id, 'out_pps') : sampleKey('module', id, 'out_pps');

/**
 * Counter of the packets that NFs of a chain, or of the parallel step that a merge ends, refuse as they are configured; none that
 * is reported under this name.
 */
export const refusedKey = (id: string) => `refused ${id}`;

/**
 * The sections of every chain of a plan, in the forward direction: from place to place, over each parallel step, since a merge
 * cannot tell of which branch a copy is missing, and from the hosts to the exit. The last also covers NFs that let nothing out,
 * and those whose packets cannot be told from replies. `countsRefusals`: whether every NF of the chain does. `answers`: whether an NF
 * may answer packets itself.
 */
export function sectionsOf(
  { graph, fabric, chains }: { graph: Plan['graph']; fabric: FabricSpec; chains: readonly { chain_id: string }[] },
  switches: Infrastructure['switches'],
  countsRefusals: (chainId: string) => boolean = () => true,
  answers: (nf: string) => boolean = () => false,
): Section[] {
  const wiring = new Wiring(graph);
  const rules = grouped(
    fabric.rules.filter(({ kind }) => kind === 'classify'),
    ({ chain_id }) => chain_id ?? '',
  );
  const entries = chains.map(({ chain_id }): Section => {
    const passes = switches.flatMap(({ id }) =>
      (rules.get(chain_id) ?? []).map((rule) => sampleKey('rule', `${id} ${rule.id}`, 'pps')),
    );
    const next = wiring.after(HOSTS).filter((node) => node.chain_id === chain_id);
    const hosts = [...new Set((rules.get(chain_id) ?? []).flatMap(({ from_hosts }) => from_hosts))];
    const from = { label: 'the switch', passes };
    return hop(chain_id, HOSTS, from, next, hosts, agentsOf(next));
  });
  const hops = graph.nodes.flatMap((node): Section[] => {
    if (node.kind === 'exit') return [];
    // What it passes on includes replies, which leave by an exit that is not counted here.
    if (wiring.replies(node.id)) return [];
    // Every branch gets a copy of what a mirror takes.
    const key = node.kind === 'mirror' ? takenKey(node) : passedKey(node);
    const from = { label: labelOf(node), passes: [key] };
    return wiring.waysOut(node).map((next) => {
      // It reaches the exit on its own server.
      const heard = agentsOf(next.some(({ kind }) => kind === 'exit') ? [node, ...next] : next);
      return {
        ...hop(node.chain_id, node.id, from, next, placesOf([node]), heard),
        servers: placesOf([node, ...next]),
      };
    });
  });
  const steps = [...stepsOf(graph).values()].map((step) => ofStep(step, graph, wiring, countsRefusals));
  const whole = entries.map(({ chain_id, way, from }): Section => {
    const own = graph.nodes.filter((node) => node.chain_id === chain_id);
    const servers = placesOf(own);
    const isLeft = own.some((node) => node.kind === 'exit' && node.direction === 'forward');
    // A packet that an NF has answered goes no further; what the NF passes on includes its answers.
    const answered = own.flatMap((node) => (node.kind === 'nf' && answers(node.nf) ? [passedKey(node)] : []));
    const receives = isLeft ? [sampleKey('chain', chain_id, 'pps'), refusedKey(chain_id), ...answered] : [];
    const to = { label: 'the exit', receives, servers: agentsOf(own) };
    const ends = { from: [...way.from, ...servers], to: servers };
    const nodes = [HOSTS, ...own.map(({ id }) => id)];
    const mayRefuse = !countsRefusals(chain_id);
    return { chain_id, scope: 'chain', nodes, mayRefuse, servers, way: ends, from, to };
  });
  return [...entries, ...hops, ...steps, ...whole].filter(({ to }) => to.receives.length > 0);
}

/** Where the nodes of a graph send packets in the forward direction. */
class Wiring {
  private readonly nodes: ReadonlyMap<string, GraphNode>;
  private readonly from: ReadonlyMap<string, readonly GraphEdge[]>;
  private readonly into: ReadonlyMap<string, readonly GraphEdge[]>;

  constructor({ nodes, edges }: Plan['graph']) {
    const forward = edges.filter(({ direction }) => direction !== 'no-op');
    this.nodes = new Map(nodes.map((node) => [node.id, node]));
    this.from = grouped(forward, ({ from }) => from ?? HOSTS);
    this.into = grouped(forward, ({ to }) => to);
  }

  replies(id: string): boolean {
    return this.from.get(id)?.some(({ direction }) => direction === 'return') ?? false;
  }

  /** The nodes to which a node, or the hosts, send packets. */
  after(id: string): GraphNode[] {
    return this.targets(this.from.get(id) ?? []);
  }

  /** The same, where each group gets all of its packets: the branches of a mirror. None to a merge, where branches meet. */
  waysOut(node: CountingNode): GraphNode[][] {
    const edges = this.from.get(node.id) ?? [];
    const groups = node.kind === 'mirror' ? [...grouped(edges, ({ copy }) => String(copy)).values()] : [edges];
    const ways = groups.map((group) => this.targets(group));
    return ways.filter((next) => next.length > 0 && !next.some(({ kind }) => kind === 'merge'));
  }

  /** The nodes that send copies to a merge. */
  before(id: string): CountingNode[] {
    return (this.into.get(id) ?? []).flatMap(({ direction, from }) => {
      const node = direction === 'forward' ? this.nodes.get(from ?? HOSTS) : undefined;
      return node && node.kind !== 'exit' ? [node] : [];
    });
  }

  private targets(edges: readonly GraphEdge[]): GraphNode[] {
    const ids = edges.flatMap(({ to, direction }) => (direction === 'forward' ? [to] : []));
    return [...new Set(ids)].flatMap((to) => this.nodes.get(to) ?? []);
  }
}

function hop(
  chain_id: string,
  id: string,
  from: Section['from'],
  next: readonly GraphNode[],
  enters: readonly string[],
  heard: readonly string[],
): Section {
  const servers = placesOf(next);
  const nodes = [id, ...next.map((node) => node.id)];
  const way = { from: enters, to: servers };
  return { chain_id, scope: 'hop', nodes, mayRefuse: false, servers, way, from, to: endOf(chain_id, next, heard) };
}

/** From the mirror of a step to its merge. Packets get lost between branch and merge, or in a branch that lets nothing out. */
function ofStep(
  { mirror, merge, nfs, inner }: Step,
  { nodes }: Plan['graph'],
  wiring: Wiring,
  countsRefusals: (chainId: string) => boolean,
): Section {
  const { chain_id } = merge;
  const within = new Set([merge.id, ...inner.map(({ id }) => id)]);
  const inside = nodes.filter(
    (node) => (node.kind === 'mirror' || node.kind === 'merge') && node.within !== null && within.has(node.within),
  );
  const last = wiring.before(merge.id);
  const across = last.filter(({ server }) => server !== merge.server);
  const suspects = across.length > 0 ? across : last;
  return {
    chain_id,
    scope: 'step',
    nodes: [...new Set([mirror, ...nfs, ...inside, ...last, merge].map(({ id }) => id))],
    mayRefuse: !countsRefusals(chain_id),
    servers: placesOf([...across, merge]),
    way: { from: placesOf(last), to: [merge.server] },
    from: { label: suspects.map(labelOf).join(' or '), passes: [takenKey(mirror)] },
    to: {
      label: labelOf(merge),
      receives: [passedKey(merge), refusedKey(merge.id)],
      servers: agentsOf([...nfs, merge]),
    },
  };
}

/** The servers whose agents report what the nodes count. */
function agentsOf(nodes: readonly GraphNode[]): string[] {
  return [...new Set(nodes.flatMap((node) => (node.kind === 'exit' ? [] : node.server)))];
}

/** Where the packets of the nodes go. */
function placesOf(nodes: readonly GraphNode[]): string[] {
  return [...new Set(nodes.flatMap((node) => (node.kind === 'exit' ? [] : placeOf(node))))];
}

function placeOf(node: CountingNode): string {
  return node.kind === 'nf' && isAtSwitch(node) ? slotPlace(node.board!) : node.server;
}

function endOf(chainId: string, nodes: readonly GraphNode[], servers: readonly string[]): Section['to'] {
  const receives = nodes.map((node) => (node.kind === 'exit' ? sampleKey('chain', chainId, 'pps') : takenKey(node)));
  return { label: [...new Set(nodes.map(labelOf))].join(' or '), receives: [...new Set(receives)], servers };
}

/** How a node is named where it loses packets. */
export function labelOf(node: GraphNode): string {
  return node.kind === 'exit' ? 'the exit' : `${node.id} (${placeOf(node)})`;
}
