import { type Chain, crossesServers, type ExitNode, type GraphNode, type Plan } from '@orrery/contract';
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

/** The path of a chain according to the running plan, over the elements of the scene. */
export function overlayOf(scene: Scene, plan: Plan, chain: Chain): Overlay {
  const own = plan.graph.nodes.filter((node) => node.kind !== 'exit').filter(({ chain_id }) => chain_id === chain.id);
  const joints = jointsOf(own);
  const ends = new Map(own.map(({ id }): [string, OverlayEnd] => [id, joints.has(id) ? { joint: id } : { chip: id }]));
  const planned = plan.chains.find(({ chain_id }) => chain_id === chain.id);
  const sources = (planned?.definition ?? chain.draft).traffic_class.from.filter((id) => scene.nodes.has(id));
  const switches = [...scene.nodes.values()].filter(({ kind }) => kind === 'switch').map(({ id }) => id);
  const exit = switches[0];
  const edges: OverlayEdge[] = [];
  const exits = new Set(plan.graph.nodes.flatMap(({ kind, id }) => (kind === 'exit' ? [id] : [])));
  for (const edge of plan.graph.edges.filter(({ direction }) => direction === 'forward')) {
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
