import {
  crossesServers,
  type GraphEdge,
  type GraphNode,
  type InstanceGraph,
  type NfDescriptor,
} from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { grouped } from '../grouped.js';
import { inOrder } from '../igraph/graph.js';

/**
 * Nodes in front of which TCP streams are reassembled: on each engine the first of those that read them, or the mirror of
 * the parallel step in which it lies (E2 3.6.1). A node whose packets have all passed one of these on their engine needs
 * no other. What is reassembled does not cross the fabric, nor an NF outside the engine, one that changes payloads or
 * lengths, or a merge. An NF that drops packets keeps a reassembly behind a mirror on its own side: streams without the
 * packets that it drops are others.
 */
export function bytestreams(
  { nodes, edges }: InstanceGraph,
  descriptors: readonly NfDescriptor[],
): ReadonlySet<string> {
  const readers = nodes.filter((node) => node.kind === 'nf' && node.reads_streams);
  if (readers.length === 0) return new Set();
  const catalogue = indexDescriptors(descriptors);
  const forward = edges.filter(({ direction }) => direction === 'forward');
  const entering = grouped(forward, ({ to }) => to);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const places = new Set<string>();

  const passes = (node: GraphNode): boolean => {
    if (node.kind !== 'nf') return node.kind === 'mirror' || node.kind === 'queue' || node.kind === 'split';
    const { writes, adds, removes } = catalogue.get(node.nf)!.actions;
    return node.driver === 'engine' && !writes.includes('payload') && adds.length + removes.length === 0;
  };
  const drops = (node: GraphNode): boolean => node.kind === 'nf' && catalogue.get(node.nf)!.actions.may_drop;
  /** Where packets come from on the same engine; `null`: not only from nodes there. */
  const sources = (id: string): readonly GraphNode[] | null => {
    const ways: readonly GraphEdge[] = entering.get(id) ?? [];
    const here = ways.every((way) => way.from !== null && way.hop === null && !crossesServers(way));
    return here && ways.length > 0 ? ways.map(({ from }) => byId.get(from!)!) : null;
  };
  const known = new Map<string, boolean>();
  const arrivesReassembled = (id: string): boolean => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const leaves = (node: GraphNode) => passes(node) && (places.has(node.id) || arrivesReassembled(node.id));
    const arrives = sources(id)?.every(leaves) ?? false;
    known.set(id, arrives);
    return arrives;
  };
  const placeFor = (id: string, place = id): string => {
    const from = new Set(sources(id) ?? []);
    const [node] = from;
    if (!node || from.size > 1 || !passes(node) || drops(node)) return place;
    return placeFor(node.id, node.kind === 'mirror' ? node.id : place);
  };

  const order = inOrder([...byId.keys()], forward);
  const reading = new Set(readers.map(({ id }) => id));
  for (const id of order) {
    if (!reading.has(id) || arrivesReassembled(id)) continue;
    places.add(placeFor(id));
    known.clear();
  }
  for (const id of [...places]) if (arrivesReassembled(id)) places.delete(id);
  return places;
}
