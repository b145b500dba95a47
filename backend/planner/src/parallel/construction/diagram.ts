import { nfsOf, type Series } from './series.js';

export interface Vertex {
  readonly id: string;
  readonly kind: 'nf' | 'mirror' | 'merge';
  /** `null` for mirrors and merges. */
  readonly nf: number | null;
}

interface Diagram {
  readonly vertices: readonly Vertex[];
  readonly links: readonly { readonly from: string; readonly to: string }[];
}

/** The graph with its mirrors and merges drawn out, from left to right. */
export function diagramOf(series: Series): Diagram {
  const vertices: Vertex[] = [];
  const links: { from: string; to: string }[] = [];
  let steps = 0;
  const add = (vertex: Vertex, from: string | null): string => {
    vertices.push(vertex);
    if (from !== null) links.push({ from, to: vertex.id });
    return vertex.id;
  };
  const draw = (part: Series, start: string | null): string | null =>
    part.reduce<string | null>((from, step) => {
      if (step.kind === 'nf') return add({ id: `nf-${step.nf}`, kind: 'nf', nf: step.nf }, from);
      const id = ++steps;
      const mirror = add({ id: `mirror-${id}`, kind: 'mirror', nf: null }, from);
      const ends = step.branches.map((it) => draw(it, mirror)!);
      const merge = add({ id: `merge-${id}`, kind: 'merge', nf: null }, null);
      for (const end of ends) links.push({ from: end, to: merge });
      return merge;
    }, start);
  draw(series, null);
  return { vertices, links };
}

/** NFs of the branches that hold the packet at once, where these are most. */
export function widestBranches(series: Series): number[][] {
  const wide = series.map((step) => {
    if (step.kind === 'nf') return [[step.nf]];
    return step.branches.flatMap((it) => {
      const inner = widestBranches(it);
      return inner.length > 1 ? inner : [nfsOf(it)];
    });
  });
  const most = Math.max(0, ...wide.map(({ length }) => length));
  return most > 1 ? wide.find(({ length }) => length === most)! : series.length > 0 ? [nfsOf(series)] : [];
}
