import { describe, expect, it } from 'vitest';
import type { UnplacedGraph } from '../igraph/graph.js';
import type { Bin, Place } from '../placement/problem.js';
import { withFewHandovers } from './handover-cores.js';

const GHZ = 1e9;
const bins = (...cores: number[]) =>
  cores.map((count, i) => ({ id: `s${i}`, cores: count, hz: GHZ }) as unknown as Bin);

/** `in` -> mirror -> a and b -> merge -> out, each with its share of a core. */
function graph(shares: Readonly<Record<string, number>>): UnplacedGraph {
  const kinds = { first: 'nf', mirror: 'mirror', a: 'nf', b: 'nf', merge: 'merge', last: 'nf' } as const;
  const nodes = Object.entries(kinds).map(([id, kind]) => ({
    id,
    kind,
    cycles_per_second: (shares[id] ?? 0.01) * GHZ,
  }));
  const edge = (from: string | null, to: string) => ({ from, to, direction: 'forward' });
  const edges = [
    edge(null, 'first'),
    edge('first', 'mirror'),
    edge('mirror', 'a'),
    edge('mirror', 'b'),
    edge('a', 'merge'),
    edge('b', 'merge'),
    edge('merge', 'last'),
  ];
  return { nodes, edges } as unknown as UnplacedGraph;
}
const ITEMS = ['first', 'mirror', 'a', 'b', 'merge', 'last'];
const NEW = ITEMS.map(() => null);
const at = (...cores: number[]): Place[] => cores.map((core) => ({ bin: 0, core }));
const FREE = at(1, 2, 3, 4, 5, 6);
const moved = (
  places: Place[],
  {
    shares = {},
    pinned = NEW as (Place | null)[],
    on = bins(8),
  }: { shares?: Record<string, number>; pinned?: (Place | null)[]; on?: Bin[] } = {},
) => withFewHandovers(graph(shares), { bins: on }, pinned, places).map(({ core }) => core);

describe('mirrors and merges', () => {
  it('stand beside the NF before them and the one after them', () => {
    expect(moved(FREE)).toEqual([1, 1, 3, 4, 6, 6]);
  });

  it('stay where they run', () => {
    const pinned = ITEMS.map((id, i) => (id === 'mirror' || id === 'merge' ? FREE[i]! : null));
    expect(moved(FREE, { pinned })).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('that have left the server on which they ran are placed as new ones', () => {
    const pinned = ITEMS.map((id) => (id === 'mirror' ? { bin: 1, core: 0 } : null));
    expect(moved(FREE, { pinned, on: bins(8, 8) })).toEqual([1, 1, 3, 4, 6, 6]);
  });

  it('stay away from a busy core', () => {
    expect(moved(FREE, { shares: { first: 0.69, last: 0.7 } })).toEqual([1, 1, 3, 4, 5, 6]);
    expect(moved(FREE, { shares: { first: 0.695, last: 0.65, merge: 0.04 } })).toEqual([1, 2, 3, 4, 6, 6]);
  });

  it('do not share a core that has room for one of them', () => {
    const together = at(1, 2, 3, 4, 5, 1);
    expect(moved(together, { shares: { first: 0.3, last: 0.3, mirror: 0.08, merge: 0.08 } })).toEqual([
      1, 1, 3, 4, 5, 1,
    ]);
  });

  it('stand on the core of the network interface where their neighbours are on other servers', () => {
    const places = [{ bin: 1, core: 1 }, ...FREE.slice(1, 5), { bin: 1, core: 2 }];
    expect(moved(places, { on: bins(8, 8) })).toEqual([1, 0, 3, 4, 0, 2]);
    expect(moved(places, { on: bins(8, 8), shares: { mirror: 0.4, merge: 0.4 } })).toEqual([1, 0, 3, 4, 5, 2]);
  });
});
