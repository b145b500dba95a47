import type { Link } from './graph-layout.js';

interface Steps {
  readonly vertices: readonly { readonly id: string; readonly node: string | null }[];
  readonly links: readonly Link[];
}

/** What of a graph is on a critical path. */
export interface Critical {
  readonly vertices: ReadonlySet<string>;
  readonly links: ReadonlySet<string>;
}

export const linkKey = ({ from, to }: Link) => `${from} ${to}`;

/**
 * The vertices and links on the way through the NFs of a critical path, with the mirrors before and the merges after it. Where
 * no way has exactly these NFs, because others stand between them, the NFs alone.
 */
export function criticalOf({ vertices, links }: Steps, path: readonly string[]): Critical {
  const byId = new Map(vertices.map((vertex) => [vertex.id, vertex]));
  const isJoint = (id: string) => byId.get(id)?.node === null;
  const onward = (id: string) => links.filter(({ from }) => from === id).map(({ to }) => to);
  const backward = (id: string) => links.filter(({ to }) => to === id).map(({ from }) => from);
  /** The way on from a vertex until all of the path was met. */
  const walk = (id: string, met: number): string[] | null => {
    const node = byId.get(id)?.node ?? null;
    if (node !== null && node !== path[met]) return null;
    const now = node === null ? met : met + 1;
    if (now === path.length) return [id];
    for (const to of onward(id)) {
      const rest = walk(to, now);
      if (rest) return [id, ...rest];
    }
    return null;
  };
  const start = vertices.find(({ node }) => node !== null && node === path[0]);
  const way = start ? walk(start.id, 0) : null;
  if (!way)
    return {
      vertices: new Set(vertices.flatMap(({ id, node }) => (node !== null && path.includes(node) ? [id] : []))),
      links: new Set(),
    };
  for (let [before] = backward(way[0]!); before !== undefined && isJoint(before); [before] = backward(before)) {
    if (onward(before).length < 2) break;
    way.unshift(before);
  }
  for (let [after] = onward(way.at(-1)!); after !== undefined && isJoint(after); [after] = onward(after)) {
    if (backward(after).length < 2) break;
    way.push(after);
  }
  return {
    vertices: new Set(way),
    links: new Set(way.slice(1).map((to, i) => linkKey({ from: way[i]!, to }))),
  };
}
