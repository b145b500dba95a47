import {
  type Chain,
  type ChainDefinition,
  crossesServers,
  type ExitNode,
  type GraphEdge,
  type GraphNode,
  type IngressWay,
  type Plan,
} from '@orrery/contract';
import type { Joint } from './joints.js';
import type { Scene } from './model.js';
import type { JointKind } from './running-joints.js';

/** End of a chain's edge: an instance, a mirror, merge or queue, a host, or a switch. */
export type OverlayEnd = { readonly chip: string } | { readonly joint: string } | { readonly node: string };

/** One edge of a chain between drawn elements. */
export interface OverlayEdge {
  readonly id: string;
  readonly from: OverlayEnd;
  readonly to: OverlayEnd;
  readonly rate_bps: number;
  /** Leaves its server through the switch. */
  readonly cut: boolean;
}

/** Where one chain runs. */
export interface Overlay {
  readonly chainId: string;
  readonly edges: readonly OverlayEdge[];
  readonly chips: ReadonlySet<string>;
  readonly joints: ReadonlyMap<string, Joint>;
  readonly nodes: ReadonlySet<string>;
  readonly links: ReadonlySet<string>;
}

/** The path of a chain, or of one of its ways, according to the running plan, over the elements of the scene. */
export function overlayOf(scene: Scene, plan: Plan, chain: Chain, way: string | null = null): Overlay {
  const all = plan.graph.nodes.filter((node) => node.kind !== 'exit').filter(({ chain_id }) => chain_id === chain.id);
  const definition = definitionOf(plan, chain);
  const forward = plan.graph.edges.filter(({ direction }) => direction === 'forward');
  const taken = way === null ? forward : edgesOnWay(forward, definition, way);
  const passed = new Set(taken.flatMap(({ from, to }) => [from, to]));
  const own = way === null ? all : all.filter(({ id }) => passed.has(id));
  const joints = jointsOf(all);
  if (way !== null) for (const id of joints.keys()) if (!passed.has(id)) joints.delete(id);
  const ends = new Map(own.map(({ id }): [string, OverlayEnd] => [id, joints.has(id) ? { joint: id } : { chip: id }]));
  const hosts = way === null ? definition.traffic_class.from : hostsOnWay(definition, way);
  const sources = hosts.filter((id) => scene.nodes.has(id));
  const switches = [...scene.nodes.values()].filter(({ kind }) => kind === 'switch').map(({ id }) => id);
  const exit = switches[0];
  const edges: OverlayEdge[] = [];
  const exits = new Set(plan.graph.nodes.flatMap(({ kind, id }) => (kind === 'exit' ? [id] : [])));
  for (const edge of taken) {
    const from = edge.from === null ? null : ends.get(edge.from);
    const to = exits.has(edge.to) ? null : ends.get(edge.to);
    if (from === undefined || to === undefined || (from === null && to === null)) continue;
    const base = { rate_bps: edge.rate_bps, cut: crossesServers(edge) };
    if (from === null) {
      for (const host of sources) {
        edges.push({ ...base, id: `${edge.id} ${host}`, from: { node: host }, to: to!, cut: true });
      }
    } else if (to === null) {
      if (exit) edges.push({ ...base, id: edge.id, from, to: { node: exit }, cut: true });
    } else {
      edges.push({ ...base, id: edge.id, from, to });
    }
  }
  const drawn = edges.filter(({ from, to }) =>
    [from, to].every((end) => !('chip' in end) || scene.serverOfInstance.has(end.chip)),
  );
  const servers = new Set(own.map(({ server }) => server));
  const nodes = new Set([...servers, ...sources, ...switches]);
  const links = new Set(
    [...scene.links.values()].filter(({ a, b }) => nodes.has(a) && nodes.has(b)).map(({ id }) => id),
  );
  const chips = new Set(own.flatMap(({ id }) => (joints.has(id) ? [] : [id])));
  return { chainId: chain.id, edges: drawn, chips, joints, nodes, links };
}

/** Ways of a chain as it runs. */
export function waysOf(plan: Plan, chain: Chain): readonly IngressWay[] {
  return ingressOf(definitionOf(plan, chain))?.ways ?? [];
}

function definitionOf(plan: Plan, chain: Chain): ChainDefinition {
  return plan.chains.find(({ chain_id }) => chain_id === chain.id)?.definition ?? chain.draft;
}

function ingressOf({ nodes }: ChainDefinition) {
  return nodes.find((node) => node.kind === 'ingress');
}

/** Hosts whose packets take a way. */
function hostsOnWay(definition: ChainDefinition, way: string): string[] {
  const classes = ingressOf(definition)?.ways?.find(({ id }) => id === way)?.classes ?? [];
  return [...new Set(classes.flatMap(({ from }) => from))];
}

/** Edges that packets on a way pass: from the hosts on, along those that do not ask for another way. */
function edgesOnWay(edges: readonly GraphEdge[], definition: ChainDefinition, way: string): GraphEdge[] {
  const attribute = `${ingressOf(definition)?.id}.way`;
  const open = edges.filter(({ filter }) =>
    filter.every((term) => term.attribute !== attribute || (term.value === way) === (term.op === 'is')),
  );
  const reached = new Set<string | null>([null]);
  for (let before = 0; before < reached.size; ) {
    before = reached.size;
    for (const { from, to } of open) if (reached.has(from)) reached.add(to);
  }
  return open.filter(({ from }) => reached.has(from));
}

export function jointKinds({ joints }: Overlay): JointKind[] {
  return [...new Set([...joints.values()].map(({ kind }) => kind))];
}

function jointsOf(nodes: readonly Exclude<GraphNode, ExitNode>[]): Map<string, Joint> {
  const joints = new Map<string, Joint>();
  for (const { kind, id, server } of nodes) {
    if (kind === 'nf') continue;
    const index = [...joints.values()].filter((joint) => joint.server === server).length;
    joints.set(id, { id, kind, server, index });
  }
  return joints;
}
