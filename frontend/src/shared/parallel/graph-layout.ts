export interface Link {
  readonly from: string;
  readonly to: string;
}

/** What is drawn: boxes of their own size, pixels, and links from left to right without a cycle. */
export interface Graph<V extends Sized = Sized> {
  readonly vertices: readonly V[];
  readonly links: readonly Link[];
}

interface Sized {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Drawing<V extends Sized = Sized> {
  /** With their middle. */
  readonly vertices: readonly (V & Point)[];
  /** With the points that each passes, from the right edge of a box to the left edge of another. */
  readonly links: readonly (Link & { readonly points: readonly Point[] })[];
  readonly width: number;
  readonly height: number;
}

const GAP = { x: 24, y: 14 } as const;
const EDGE = 8;
const SWEEPS = 8;

/** A box, or the place where a link passes a column. */
interface Cell {
  readonly column: number;
  readonly width: number;
  readonly height: number;
  y: number;
}

/**
 * Draws a graph in columns: each box right of all that lead to it, branches below each other in the order of their links, a
 * box on the middle of its neighbours, and no link through a box.
 */
export function layoutGraph<V extends Sized>({ vertices, links }: Graph<V>): Drawing<V> {
  const columns = columnsOf(vertices, links);
  const cells = new Map<string, Cell>(
    vertices.map(({ id, width, height }) => [id, { column: columns.get(id)!, width, height, y: 0 }]),
  );
  const ways = links.map((link) => ({ ...link, way: passed(link, cells) }));
  const next = new Map<Cell, Cell[]>();
  const before = new Map<Cell, Cell[]>();
  const put = (map: Map<Cell, Cell[]>, at: Cell, cell: Cell) => map.set(at, [...(map.get(at) ?? []), cell]);
  for (const { way } of ways) {
    way.slice(1).forEach((cell, i) => {
      put(next, way[i]!, cell);
      put(before, cell, way[i]!);
    });
  }
  const grid = ordered([...cells.values()], next);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const forth = sweep % 2 === 0;
    for (const column of forth ? grid : grid.toReversed()) settle(column, forth ? before : next);
  }
  return drawn(vertices, ways, cells, grid);
}

/** Column of each box: the most links on a way to it. */
function columnsOf(vertices: readonly Sized[], links: readonly Link[]): ReadonlyMap<string, number> {
  const columns = new Map(vertices.map(({ id }) => [id, 0]));
  // As many rounds as the longest way can have links; a cycle ends with them.
  for (let round = 0, changed = true; changed && round < vertices.length; round++) {
    changed = false;
    for (const { from, to } of links) {
      const least = columns.get(from)! + 1;
      if (columns.get(to)! >= least) continue;
      columns.set(to, least);
      changed = true;
    }
  }
  return columns;
}

/** The cells from one end of a link to the other; new ones in the columns that it passes. */
function passed({ from, to }: Link, cells: ReadonlyMap<string, Cell>): Cell[] {
  const [start, end] = [cells.get(from)!, cells.get(to)!];
  const between = Math.max(0, end.column - start.column - 1);
  const passing = Array.from({ length: between }, (_, i) => ({
    column: start.column + 1 + i,
    width: 0,
    height: 0,
    y: 0,
  }));
  return [start, ...passing, end];
}

/** The cells of each column from the top, in the order in which a walk along the links meets them. */
function ordered(cells: readonly Cell[], next: ReadonlyMap<Cell, readonly Cell[]>): Cell[][] {
  const grid: Cell[][] = [];
  const met = new Set<Cell>();
  const walk = (cell: Cell) => {
    if (met.has(cell)) return;
    met.add(cell);
    grid[cell.column] = [...(grid[cell.column] ?? []), cell];
    for (const each of next.get(cell) ?? []) walk(each);
  };
  for (const cell of cells) if (cell.column === 0) walk(cell);
  for (const cell of cells) walk(cell);
  for (const column of grid) stack(column);
  return grid;
}

/** Least distance of the middles of two cells of a column. */
function apart(above: Cell, below: Cell): number {
  return (above.height + below.height) / 2 + GAP.y;
}

function stack(column: readonly Cell[]): void {
  let y = 0;
  column.forEach((cell, i) => {
    y += i === 0 ? 0 : apart(column[i - 1]!, cell);
    cell.y = y;
  });
}

/** Moves the cells of a column as near to the middle of their neighbours as their order allows (least squares). */
function settle(column: readonly Cell[], neighbours: ReadonlyMap<Cell, readonly Cell[]>): void {
  let offset = 0;
  const offsets = column.map((cell, i) => {
    offset += i === 0 ? 0 : apart(column[i - 1]!, cell);
    return offset;
  });
  // Blocks of cells that touch, each with the mean of what its cells want.
  const blocks: { sum: number; cells: number }[] = [];
  column.forEach((cell, i) => {
    const near = neighbours.get(cell) ?? [];
    const wanted = near.length > 0 ? near.reduce((sum, { y }) => sum + y, 0) / near.length : cell.y;
    blocks.push({ sum: wanted - offsets[i]!, cells: 1 });
    for (let last = blocks.length - 1; last > 0 && mean(blocks[last - 1]!) > mean(blocks[last]!); last--) {
      const { sum, cells } = blocks.pop()!;
      blocks[last - 1]!.sum += sum;
      blocks[last - 1]!.cells += cells;
    }
  });
  let at = 0;
  for (const block of blocks) for (let i = 0; i < block.cells; i++, at++) column[at]!.y = mean(block) + offsets[at]!;
}

const mean = ({ sum, cells }: { readonly sum: number; readonly cells: number }) => sum / cells;

function drawn<V extends Sized>(
  vertices: readonly V[],
  ways: readonly (Link & { readonly way: readonly Cell[] })[],
  cells: ReadonlyMap<string, Cell>,
  grid: readonly (readonly Cell[])[],
): Drawing<V> {
  const all = grid.flat();
  const top = Math.min(...all.map(({ y, height }) => y - height / 2), 0);
  const bottom = Math.max(...all.map(({ y, height }) => y + height / 2), 0);
  let x = EDGE;
  const bounds = grid.map((column) => {
    const width = Math.max(...column.map((cell) => cell.width));
    const left = x;
    x += width + GAP.x;
    return { left, middle: left + width / 2, right: left + width };
  });
  const at = ({ column, y }: Cell): Point => ({ x: bounds[column]!.middle, y: Math.round(y - top + EDGE) });
  /** Level across a column that a link passes, so that it bends between columns alone. */
  const across = (cell: Cell): Point[] => {
    const { left, right } = bounds[cell.column]!;
    const { y } = at(cell);
    return [
      { x: left, y },
      { x: right, y },
    ];
  };
  return {
    vertices: vertices.map((vertex) => ({ ...vertex, ...at(cells.get(vertex.id)!) })),
    links: ways.map(({ from, to, way }) => ({
      from,
      to,
      points: way.flatMap((cell, i) => {
        const { x: middle, y } = at(cell);
        if (i === 0) return [{ x: middle + cell.width / 2, y }];
        return i === way.length - 1 ? [{ x: middle - cell.width / 2, y }] : across(cell);
      }),
    })),
    width: vertices.length === 0 ? 0 : x - GAP.x + EDGE,
    height: Math.round(bottom - top) + EDGE * 2,
  };
}

/** An SVG path through the points, level at each. */
export function pathThrough(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let before = first;
  const parts = rest.map((point) => {
    const bend = (point.x - before.x) / 2;
    const part = `C ${before.x + bend} ${before.y}, ${point.x - bend} ${point.y}, ${point.x} ${point.y}`;
    before = point;
    return part;
  });
  return `M ${first.x} ${first.y} ${parts.join(' ')}`;
}
