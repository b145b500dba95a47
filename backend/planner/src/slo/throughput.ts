import { isAtSwitch } from '@orrery/contract';
import { boardHosts, slotRateBps } from '../accelerator/slot-rate.js';
import { indexDescriptors } from '../check/attributes.js';
import { chainsById } from '../check/chains-by-id.js';
import { boardImplementation } from '../check/implementation.js';
import type { Path } from '../check/paths.js';
import { placedNodes } from '../igraph/graph.js';
import { pgraphNodeId } from '../igraph/pgraph.js';
import { linkedSlots } from '../slot-links.js';
import { coreKey, type PlacedInput } from './placed.js';

/** The subject: a chain, or one of its classes with its rate. */
interface Asker {
  readonly chain_id: string;
  readonly rate_bps: number;
  readonly path?: Path;
}

/** The asker's rate at which a core, the part of one that an NF may use, or a link direction is full while all else stays at its estimate. */
export function throughputOf(input: PlacedInput, asker: Asker): { bps: number; bottleneck: string } {
  if (asker.rate_bps === 0) return { bps: 0, bottleneck: 'the class has no rate estimate' };
  const loads = loadsOf(input);
  const mine = loadOf(loads, partOf(loads, input, asker), asker.chain_id);
  let bps = 1e13;
  let bottleneck = 'no bottleneck';
  for (const [resource, part] of mine) {
    if (part === 0) continue;
    const limit = (asker.rate_bps * (1 - (loads.all.get(resource)! - part))) / part;
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

function partOf({ load, rate }: Loads, { chains }: PlacedInput, { chain_id, rate_bps, path }: Asker): Part {
  if (!path) return { ofNode: () => 1, ofEdge: () => 1 };
  const { name } = chainsById(chains).get(chain_id)!.definition;
  const share = (total: number | undefined) => (total ? Math.min(1, rate_bps / total) : 0);
  const nodes = new Set(path.nodes.map((id) => pgraphNodeId(name, id)));
  const edges = new Set(path.edges.map((id) => `${name}.${id}`));
  return {
    ofNode: (id) => (nodes.has(id) ? share(load.get(id)) : 0),
    ofEdge: (id) => (edges.has(id) ? share(rate.get(id)) : 0),
  };
}

/** What an instance or an edge of the graph takes of a core, a slot or a link direction. */
interface Use {
  readonly resource: string;
  /** Of all that the resource can do. */
  readonly share: number;
  /** The NF, or the edge of the PGraph, whose packets these are. */
  readonly of: { readonly node: string } | { readonly edge: string };
}

interface Loads {
  /** Share of each resource that is in use. */
  readonly all: ReadonlyMap<string, number>;
  readonly byChain: ReadonlyMap<string, readonly Use[]>;
  /** Estimates of the policy graph by node and by edge. */
  readonly load: ReadonlyMap<string, number>;
  readonly rate: ReadonlyMap<string, number>;
}

const KNOWN_LOADS = new WeakMap<PlacedInput, Loads>();

/** Added up once for each plan. */
function loadsOf(input: PlacedInput): Loads {
  const known = KNOWN_LOADS.get(input);
  if (known) return known;
  const all = new Map<string, number>();
  const byChain = new Map<string, Use[]>();
  const nodes = placedNodes(input.graph);
  const into = new Map(input.bins.map(({ id, link_bps }) => [id, link_bps]));
  const outOf = new Map(into);
  for (const [place, { near, far }] of linkedSlots(input.infrastructure)) {
    into.set(place, near.link.bandwidth_bps);
    outOf.set(place, far.link.bandwidth_bps);
  }
  const hosts = boardHosts(input.bins, input.infrastructure);
  const boards = new Map(input.infrastructure.boards.map((board) => [board.id, board]));
  const catalogue = indexDescriptors(input.descriptors);
  const packetBytes = new Map(
    input.chains.map(({ chain_id, definition }) => [chain_id, definition.traffic_class.packet_bytes]),
  );
  const add = (chain: string, resource: string, share: number, of: Use['of']) => {
    all.set(resource, (all.get(resource) ?? 0) + share);
    const uses = byChain.get(chain) ?? [];
    if (uses.push({ resource, share, of }) === 1) byChain.set(chain, uses);
  };
  const stepOf = stepEdges(input.graph);
  const owner = new Map(
    nodes.map((node): [string, Use['of']] => [
      node.id,
      node.kind === 'nf' ? { node: node.pgraph_node } : { edge: stepOf.get(node.id)! },
    ]),
  );
  for (const node of nodes) {
    const of = owner.get(node.id)!;
    if (node.kind !== 'nf' || !isAtSwitch(node)) add(node.chain_id, `core ${coreKey(node)}`, node.core_share, of);
    if (node.kind !== 'nf') continue;
    if (node.cpu_limit !== undefined)
      add(node.chain_id, `CPU limit of ${node.id}`, node.core_share / node.cpu_limit, of);
    if (!node.board) continue;
    const { board, slot } = node.board;
    const module = boardImplementation(catalogue.get(node.nf)!)!;
    const rate = slotRateBps(module, packetBytes.get(node.chain_id)!, boards.get(board)!, hosts);
    add(node.chain_id, `${board} slot ${slot}`, node.load_bps / rate, of);
  }
  for (const { chain_id, from, to, rate_bps, pgraph_edge, from_server, to_server } of input.graph.edges) {
    const leaves = !owner.has(to);
    if (!leaves && from_server === to_server) continue;
    const of = pgraph_edge === null ? owner.get(from ?? to)! : { edge: pgraph_edge };
    if (from_server !== null) add(chain_id, `link out of ${from_server}`, rate_bps / outOf.get(from_server)!, of);
    if (!leaves) add(chain_id, `link into ${to_server}`, rate_bps / into.get(to_server)!, of);
  }
  const loads = {
    all,
    byChain,
    load: new Map(input.pgraph.nodes.map((node) => [node.id, node.load_bps])),
    rate: new Map(input.pgraph.edges.map((edge) => [edge.id, edge.rate_bps])),
  };
  KNOWN_LOADS.set(input, loads);
  return loads;
}

/** The asker's part of each resource. */
function loadOf({ byChain }: Loads, part: Part, chain: string): Map<string, number> {
  const mine = new Map<string, number>();
  for (const { resource, share, of } of byChain.get(chain) ?? []) {
    const own = 'node' in of ? part.ofNode(of.node) : part.ofEdge(of.edge);
    if (own > 0) mine.set(resource, (mine.get(resource) ?? 0) + share * own);
  }
  return mine;
}

/** For what is no NF: an edge of the policy graph whose packets all pass it, and no others. */
function stepEdges({ nodes, edges }: PlacedInput['graph']): Map<string, string> {
  const others = new Map(nodes.map(({ id, kind }) => [id, kind]));
  const found = new Map<string, string>();
  for (const { from, to, pgraph_edge } of edges) {
    if (from !== null && others.get(from) === 'mirror') found.set(from, pgraph_edge!);
    if (['merge', 'queue', 'split'].includes(others.get(to)!)) found.set(to, pgraph_edge!);
  }
  return found;
}
