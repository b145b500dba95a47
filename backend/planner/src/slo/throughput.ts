import type { Path } from '../check/paths.js';
import { placedNodes } from '../igraph/graph.js';
import { pgraphNodeId } from '../igraph/pgraph.js';
import { coreKey, type PlacedInput } from './placed.js';

/** The subject: a chain, or one of its classes with its rate. */
interface Asker {
  readonly chain_id: string;
  readonly rate_bps: number;
  readonly path?: Path;
}

/** The asker's rate at which a core or a link direction is full while all else stays at its estimate. */
export function throughputOf(input: PlacedInput, asker: Asker): { bps: number; bottleneck: string } {
  if (asker.rate_bps === 0) return { bps: 0, bottleneck: 'the class has no rate estimate' };
  const { all, mine } = loads(input, partOf(input, asker));
  let bps = 1e13;
  let bottleneck = 'no bottleneck';
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

function partOf({ chains, pgraph }: PlacedInput, { chain_id, rate_bps, path }: Asker): Part {
  const { name } = chains.find((it) => it.chain_id === chain_id)!.definition;
  const own = new Set(pgraph.nodes.filter((node) => node.chain_id === chain_id).map(({ id }) => id));
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
  const nodes = placedNodes(input.graph);
  const capacity = new Map(input.bins.map(({ id, link_bps }) => [id, link_bps]));
  const bandwidth = new Map(input.infrastructure.boards.map((board) => [board.id, board.bandwidth_bps]));
  const add = (resource: string, amount: number, own: number) => {
    all.set(resource, (all.get(resource) ?? 0) + amount);
    if (own > 0) mine.set(resource, (mine.get(resource) ?? 0) + amount * own);
  };
  const stepOf = stepEdges(input.graph);
  const own = new Map(
    nodes.map((node) => [
      node.id,
      node.kind === 'nf' ? part.ofNode(node.pgraph_node) : part.ofEdge(stepOf.get(node.id)!),
    ]),
  );
  for (const node of nodes) {
    add(`core ${coreKey(node)}`, node.core_share, own.get(node.id)!);
    const board = node.kind === 'nf' && node.board;
    if (board) add(`${board.board} slot ${board.slot}`, node.load_bps / bandwidth.get(board.board)!, own.get(node.id)!);
  }
  for (const edge of input.graph.edges) {
    const { from, to, rate_bps, pgraph_edge, from_server, to_server } = edge;
    const leaves = !own.has(to);
    if (!leaves && from_server === to_server) continue;
    const share = pgraph_edge === null ? own.get(from ?? to)! : part.ofEdge(pgraph_edge);
    if (from_server !== null) add(`link out of ${from_server}`, rate_bps / capacity.get(from_server)!, share);
    if (!leaves) add(`link into ${to_server}`, rate_bps / capacity.get(to_server)!, share);
  }
  return { all, mine };
}

/** For what is no NF: an edge of the policy graph whose packets all pass it, and no others. */
function stepEdges({ nodes, edges }: PlacedInput['graph']): Map<string, string> {
  const others = new Map(nodes.map(({ id, kind }) => [id, kind]));
  const found = new Map<string, string>();
  for (const { from, to, pgraph_edge } of edges) {
    if (from !== null && others.get(from) === 'mirror') found.set(from, pgraph_edge!);
    if (others.get(to) === 'merge' || others.get(to) === 'queue') found.set(to, pgraph_edge!);
  }
  return found;
}
