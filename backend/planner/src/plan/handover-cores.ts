import { grouped } from '../grouped.js';
import { type UnplacedGraph, workNodes } from '../igraph/graph.js';
import type { Place, PlacementProblem } from '../placement/problem.js';

/** Its worker runs the network interface of the engine, by which packets come from other nodes and go to them. */
const INTERFACE_CORE = 0;
/** Load up to which a core takes more: beyond it, what others wait there (M/D/1: 1.2 times what they take) grows fast. */
const MOST_LOAD = 0.7;

/**
 * The places, with each new mirror or split on the core from which its packets come and each new merge on the core to which they go
 * next, where that is not busy: there, packets wait for no other worker, which may sleep. What runs, `pinned`, stays on its
 * core, and everything on its server. Places are by the order of `workNodes`.
 */
export function withFewHandovers(
  graph: UnplacedGraph,
  { bins }: Pick<PlacementProblem, 'bins'>,
  pinned: readonly (Place | null)[],
  places: readonly Place[],
): Place[] {
  const out = [...places];
  const work = workNodes(graph);
  const itemOf = new Map<string | null, number>(work.map(({ id }, item) => [id, item]));
  const edges = graph.edges.filter(({ direction }) => direction !== 'no-op');
  const entering = grouped(edges, ({ to }) => to);
  const leaving = grouped(edges, ({ from }) => from ?? '');
  const load = bins.map(({ cores }) => new Float64Array(cores));
  const share = (item: number) => work[item]!.cycles_per_second / bins[out[item]!.bin]!.hz;
  out.forEach(({ bin, core }, item) => {
    load[bin]![core]! += share(item);
  });

  /** Beside the first of the neighbours that stands on the same server. */
  const move = (item: number, neighbours: readonly (string | null)[]) => {
    const { bin, core } = out[item]!;
    const there = neighbours.flatMap((id) => {
      const place = out[itemOf.get(id) ?? -1];
      return place?.bin === bin ? [place.core] : [];
    });
    const to = there[0] ?? INTERFACE_CORE;
    if (to === core || pinned[item]?.bin === bin || load[bin]![to]! + share(item) > MOST_LOAD) return;
    load[bin]![core]! -= share(item);
    load[bin]![to]! += share(item);
    out[item] = { bin, core: to };
  };
  const items = work.map((node, item) => ({ node, item }));
  for (const { node, item } of items)
    if (node.kind === 'mirror' || node.kind === 'split')
      move(item, entering.get(node.id)?.map(({ from }) => from) ?? []);
  for (const { node, item } of items.reverse())
    if (node.kind === 'merge') move(item, leaving.get(node.id)?.map(({ to }) => to) ?? []);
  return out;
}
