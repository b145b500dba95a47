import type { ChainDefinition, NfDescriptor } from '@orrery/contract';
import { descriptorsByNode } from '../../check/graph.js';
import type { Path } from '../../check/paths.js';
import type { Conflict, Pair } from './dependencies.js';

/**
 * The pairs of a way through a graph whose edges have filters: an NF behind an edge waits for each NF before it that
 * decides whether a packet takes the edge, by deriving an attribute that the filter names or by changing a field that it
 * matches. Filters on fields that nothing changes are settled before the first NF.
 */
export function decidedPairs(
  pairs: readonly Pair[],
  { nodes, edges }: ChainDefinition,
  path: Path,
  catalogue: ReadonlyMap<string, NfDescriptor>,
): Pair[] {
  const nf = descriptorsByNode({ nodes });
  const filterOf = new Map(edges.map(({ id, filter }) => [id, filter]));
  const changed = (id: string): string[] => {
    const { writes, adds, removes } = catalogue.get(nf.get(id)!)!.actions;
    return [...writes, ...adds, ...removes];
  };
  /** The attribute of a filter before the later NF, or on the way out of it, that the earlier NF decides. */
  const decides = (earlier: number, later: number): string | null => {
    const id = path.nodes[earlier]!;
    for (const edge of path.edges.slice(earlier + 1, later + 1)) {
      for (const { attribute } of filterOf.get(edge) ?? [])
        if (attribute.split('.')[0] === id || changed(id).includes(attribute)) return attribute;
    }
    return null;
  };
  return pairs.map((pair) => {
    const attribute = decides(pair.earlier, pair.later);
    if (attribute === null) return pair;
    const [a, b] = [path.nodes[pair.earlier]!, path.nodes[pair.later]!];
    const { earlier, later } = pair;
    const sentence = `${a} sets ${attribute}, by which ${b} gets its packets`;
    const conflict: Conflict = { earlier, later, kind: 'filter', field: null, sentence };
    return { ...pair, parallel: false, conflicts: [...pair.conflicts, conflict] };
  });
}
