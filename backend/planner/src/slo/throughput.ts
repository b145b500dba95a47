import type { Plan } from '@orrery/contract';
import { pgraphNodeId } from '../igraph/pgraph.js';
import type { Path } from '../pipeline/paths.js';
import { coreKey, type PlacedInput } from './placed.js';

/** Who asks: a pipeline, or one of its classes with its rate. */
interface Asker {
  readonly pipeline_id: string;
  readonly rate_bps: number;
  readonly path?: Path;
}

/** The asker's rate at which a core or a link direction is full while all else stays at its estimate. */
export function throughputOf(input: PlacedInput, asker: Asker): { bps: number; bottleneck: string } {
  if (asker.rate_bps === 0) return { bps: 0, bottleneck: 'the class has no rate estimate' };
  const { all, mine } = loads(input, partOf(input, asker));
  let bps = 1e13;
  let bottleneck = 'nothing is in the way';
  for (const [resource, part] of mine) {
    if (part === 0) continue;
    const limit = (asker.rate_bps * (1 - (all.get(resource)! - part))) / part;
    if (limit < bps) {
      bps = Math.max(0, limit);
      bottleneck = resource;
    }
  }
  return { bps, bottleneck };
}

/** The asker's part of what passes an NF or an edge of the PGraph. */
interface Part {
  readonly ofNode: (pgraphNode: string) => number;
  readonly ofEdge: (pgraphEdge: string) => number;
}

function partOf({ pipelines, pgraph }: PlacedInput, { pipeline_id, rate_bps, path }: Asker): Part {
  const { name } = pipelines.find((it) => it.pipeline_id === pipeline_id)!.definition;
  const own = new Set(pgraph.nodes.filter((node) => node.pipeline_id === pipeline_id).map(({ id }) => id));
  if (!path) {
    const ofEdge = (id: string) => Number(id.startsWith(`${name}.`));
    return { ofNode: (id) => Number(own.has(id)), ofEdge };
  }
  const share = (total: number | undefined) => (total ? Math.min(1, rate_bps / total) : 0);
  const nodes = new Set(path.nodes.map((id) => pgraphNodeId(name, id)));
  const edges = new Set(path.edges.map((id) => `${name}.${id}`));
  const load = new Map(pgraph.nodes.map((node) => [node.id, node.load_bps]));
  const rate = new Map(pgraph.edges.map((edge) => [edge.id, edge.rate_bps]));
  return {
    ofNode: (id) => (nodes.has(id) ? share(load.get(id)) : 0),
    ofEdge: (id) => (edges.has(id) ? share(rate.get(id)) : 0),
  };
}

/** The share of each core and link direction that is in use, by all and by the asker. */
function loads(input: PlacedInput, part: Part): { all: Map<string, number>; mine: Map<string, number> } {
  const all = new Map<string, number>();
  const mine = new Map<string, number>();
  const server = new Map(input.instances.map((instance) => [instance.id, instance.server]));
  const capacity = new Map(input.bins.map(({ id, link_bps }) => [id, link_bps]));
  const bandwidth = new Map(input.infrastructure.boards.map((board) => [board.id, board.bandwidth_bps]));
  const add = (resource: string, amount: number, own: number) => {
    all.set(resource, (all.get(resource) ?? 0) + amount);
    if (own > 0) mine.set(resource, (mine.get(resource) ?? 0) + amount * own);
  };
  for (const instance of input.instances) {
    const own = part.ofNode(instance.pgraph_node);
    add(`core ${coreKey(instance)}`, instance.core_share, own);
    const { board } = instance;
    if (board) add(`${board.board} slot ${board.slot}`, instance.load_bps / bandwidth.get(board.board)!, own);
    if (!input.returning.has(instance.id)) continue;
    for (const way of ['into', 'out of'])
      add(`link ${way} ${instance.server}`, instance.load_bps / capacity.get(instance.server)!, own);
  }
  for (const edge of input.edges) addLinks(edge);
  return { all, mine };

  function addLinks({ from, to, rate_bps, pgraph_edge }: Plan['edges'][number]): void {
    const [a, b] = [from === null ? null : server.get(from)!, to === null ? null : server.get(to)!];
    if (a === b) return;
    const own = part.ofEdge(pgraph_edge);
    if (a !== null) add(`link out of ${a}`, rate_bps / capacity.get(a)!, own);
    if (b !== null) add(`link into ${b}`, rate_bps / capacity.get(b)!, own);
  }
}
