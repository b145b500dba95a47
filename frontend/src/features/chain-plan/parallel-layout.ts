import type { ParallelForm } from '@orrery/contract';

type Graph = ParallelForm['graph'];
type Vertex = Graph['vertices'][number];

export interface PlacedVertex extends Vertex {
  /** Of the middle, pixels. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

export interface ParallelDrawing {
  readonly vertices: readonly PlacedVertex[];
  readonly width: number;
  readonly height: number;
}

export const NF_BOX = { width: 128, height: 34 } as const;
export const JOINT_SIZE = 26;
const GAP = 34;
const LANE = 50;
const EDGE = 10;

/** A vertex, or branches between a mirror and its merge. */
type Item =
  | { readonly vertex: Vertex }
  | { readonly mirror: Vertex; readonly merge: Vertex; readonly branches: Item[][] };

const widthOf = (vertex: Vertex) => (vertex.kind === 'nf' ? NF_BOX.width : JOINT_SIZE);

/** From left to right; branches of a parallel step below each other, everything else on the middle of what it joins. */
export function layoutParallel(graph: Graph): ParallelDrawing {
  const items = parse(graph) ?? graph.vertices.map((vertex) => ({ vertex }));
  const placed: PlacedVertex[] = [];
  const height = lanesOf(items) * LANE;
  const end = place(items, EDGE, EDGE + height / 2, placed);
  return { vertices: placed, width: end - GAP + EDGE, height: height + EDGE * 2 };
}

function lanesOf(items: readonly Item[]): number {
  const lanes = items.map((item) =>
    'branches' in item ? item.branches.reduce((sum, branch) => sum + lanesOf(branch), 0) : 1,
  );
  return Math.max(1, ...lanes);
}

/** Places items from `x` on along the line `y`; returns where the next one starts. */
function place(items: readonly Item[], x: number, y: number, placed: PlacedVertex[]): number {
  let at = x;
  const put = (vertex: Vertex) => {
    const width = widthOf(vertex);
    placed.push({ ...vertex, x: at + width / 2, y, width });
    at += width + GAP;
  };
  for (const item of items) {
    if (!('branches' in item)) {
      put(item.vertex);
      continue;
    }
    put(item.mirror);
    let top = y - (lanesOf([item]) * LANE) / 2;
    let furthest = at;
    for (const branch of item.branches) {
      const size = lanesOf(branch) * LANE;
      furthest = Math.max(furthest, place(branch, at, top + size / 2, placed));
      top += size;
    }
    at = furthest;
    put(item.merge);
  }
  return at;
}

/** The graph as nested steps; null where it is not one of mirrors with their merges. */
function parse({ vertices, links }: Graph): Item[] | null {
  const byId = new Map(vertices.map((vertex) => [vertex.id, vertex]));
  const next = (id: string) => links.filter(({ from }) => from === id).map(({ to }) => byId.get(to));
  const targets = new Set(links.map(({ to }) => to));
  const starts = vertices.filter(({ id }) => !targets.has(id));
  let left = vertices.length;
  /** Reads on until a merge that is not its own, or the end. */
  const read = (start: Vertex | undefined): { items: Item[]; stop: Vertex | null } | null => {
    const items: Item[] = [];
    for (let vertex = start; vertex; ) {
      if (vertex.kind === 'merge') return { items, stop: vertex };
      if (left-- <= 0) return null;
      const onward = next(vertex.id);
      if (vertex.kind === 'nf') {
        if (onward.length > 1) return null;
        items.push({ vertex });
        vertex = onward[0];
        continue;
      }
      const branches = onward.map(read);
      const merge = branches[0]?.stop;
      if (!merge || branches.some((branch) => branch?.stop !== merge) || left-- <= 0) return null;
      items.push({ mirror: vertex, merge, branches: branches.map((branch) => branch!.items) });
      vertex = next(merge.id)[0];
    }
    return { items, stop: null };
  };
  const whole = starts.length === 1 ? read(starts[0]) : null;
  return whole && whole.stop === null && left === 0 ? whole.items : null;
}

/** Ids of the vertices on the path through exactly the NFs of the critical path. */
export function criticalVertices({ vertices, links }: Graph, path: readonly string[]): string[] {
  const byId = new Map(vertices.map((vertex) => [vertex.id, vertex]));
  const targets = new Set(links.map(({ to }) => to));
  const walk = (id: string, met: number): string[] | null => {
    const { kind, node } = byId.get(id)!;
    const now = kind === 'nf' ? met + 1 : met;
    if (kind === 'nf' && path[met] !== node) return null;
    const onward = links.filter(({ from }) => from === id);
    if (onward.length === 0) return now === path.length ? [id] : null;
    for (const { to } of onward) {
      const rest = walk(to, now);
      if (rest) return [id, ...rest];
    }
    return null;
  };
  for (const { id } of vertices) {
    const found = targets.has(id) ? null : walk(id, 0);
    if (found) return found;
  }
  return [];
}
