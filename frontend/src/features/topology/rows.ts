import type { Point } from './geometry.js';
import type { SceneNode } from './model.js';

export const GAP = 56;
export const HOST_GAP = 24;
/** Between columns of hosts. */
export const COLUMN_GAP = 40;

const gapOf = ({ kind }: SceneNode) => (kind === 'host' ? HOST_GAP : GAP);

export const widthOf = (row: readonly SceneNode[]) =>
  row.reduce((sum, node, i) => sum + node.w + (i + 1 < row.length ? gapOf(node) : 0), 0);

/** Places boxes side by side around `middle`. */
export function rowAt(
  row: readonly SceneNode[],
  middle: number,
  yOf: (node: SceneNode) => number,
  places: Map<string, Point>,
): void {
  let x = middle - widthOf(row) / 2;
  for (const node of row) {
    places.set(node.id, { x: x + node.w / 2, y: yOf(node) });
    x += node.w + gapOf(node);
  }
}

/** Places rows above each other, the first one's bottom at 0, each aligned at the bottom, so that links below are equally long. */
export function rowsAbove(rows: readonly (readonly SceneNode[])[], middle: number, places: Map<string, Point>): void {
  let bottom = 0;
  for (const row of rows) {
    const at = bottom;
    rowAt(row, middle, ({ h }) => at - h / 2, places);
    bottom -= Math.max(...row.map(({ h }) => h)) + GAP;
  }
}

export function inRows(nodes: readonly SceneNode[], perRow: number): SceneNode[][] {
  return Array.from({ length: Math.ceil(nodes.length / perRow) }, (_, row) =>
    nodes.slice(row * perRow, (row + 1) * perRow),
  );
}
