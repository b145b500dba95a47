import { crossesServers, type Plan } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import { ratioOf } from '../ratio.js';

/** Where the mirrors of a chain are (HydraNF Figure 6.8). */
type MirrorPlace = 'none' | 'software' | 'switch';

/** How the packets of a chain go through the fabric. */
export interface Layout {
  readonly mirror: MirrorPlace;
  /** Mirror and merge on one server. */
  readonly together: boolean;
  readonly servers: number;
  /** Packets between servers for each packet of the chain; what a switch copies counts once. `null`: no packets are expected. */
  readonly crossings: number | null;
}

/** The layout of a chain in a plan; the share of packets that takes an edge is that of its rate. */
export function layoutOf({ graph, nodes }: Pick<Plan, 'graph' | 'nodes'>, chainId: string): Layout {
  const own = graph.nodes.flatMap((node) => (node.chain_id === chainId && node.kind !== 'exit' ? [node] : []));
  const edges = graph.edges.filter(({ chain_id, direction }) => chain_id === chainId && direction === 'forward');
  const entering = edges.filter(({ from }) => from === null).reduce((sum, { rate_bps }) => sum + rate_bps, 0);
  const branches = (mirror: string) => new Set(edges.flatMap(({ from, copy }) => (from === mirror ? [copy] : []))).size;
  /** One of their copies stands for several branches. */
  const inSwitch = new Set(
    Object.values(nodes).flatMap(({ modules = [] }) =>
      modules.flatMap((module) =>
        module.kind === 'mirror' && module.copies.length < branches(module.id) ? [module.id] : [],
      ),
    ),
  );
  const crossing = grouped(edges.filter(crossesServers), ({ from }) => from ?? '');
  const sent = [...crossing].reduce((sum, [from, away]) => {
    const rates = away.map(({ rate_bps }) => rate_bps);
    return sum + (inSwitch.has(from) ? Math.max(...rates) : rates.reduce((all, rate) => all + rate, 0));
  }, 0);
  const of = (kind: 'mirror' | 'merge') => own.filter((node) => node.kind === kind).map(({ server }) => server);
  const mirrors = own.filter(({ kind }) => kind === 'mirror');
  return {
    mirror: mirrors.length === 0 ? 'none' : mirrors.some(({ id }) => inSwitch.has(id)) ? 'switch' : 'software',
    together: of('mirror').every((server) => of('merge').includes(server)),
    servers: new Set(own.map(({ server }) => server)).size,
    crossings: ratioOf(sent, entering),
  };
}
