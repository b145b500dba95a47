import type { Point } from './geometry.js';
import { HOST_H, HOST_W, type Scene, type SceneNode, SWITCH_H } from './model.js';
import { layoutOfSwitches } from './switch-columns.js';

const GAP = 56;
const HOSTS_IN_COLUMN = 16;
const HOST_GAP = 24;

/** Of a row. */
const widthOf = (nodes: readonly SceneNode[]) => nodes.reduce((sum, { w }) => sum + w + GAP, -GAP);

/** Boxes in rows of `perRow`, the block's bottom middle at the origin. */
function blockAbove(nodes: readonly SceneNode[], perRow: number, places: Map<string, Point>): number {
  let bottom = 0;
  let width = 0;
  for (let start = 0; start < nodes.length; start += perRow) {
    const row = nodes.slice(start, start + perRow);
    const height = Math.max(...row.map(({ h }) => h));
    const rowW = widthOf(row);
    width = Math.max(width, rowW);
    let x = -rowW / 2;
    for (const { id, w, h } of row) {
      // Aligned at the bottom, so that their links to the switch are equally long.
      places.set(id, { x: x + w / 2, y: bottom - h / 2 });
      x += w + GAP;
    }
    bottom -= height + GAP;
  }
  return width;
}

/** Boxes in a row around `middle`, with their tops at `y`. */
function rowBelow(nodes: readonly SceneNode[], y: number, places: Map<string, Point>, middle = 0): number {
  const width = widthOf(nodes);
  let x = middle - width / 2;
  for (const { id, w, h } of nodes) {
    places.set(id, { x: x + w / 2, y: y + h / 2 });
    x += w + GAP;
  }
  return width;
}

function columnBeside(
  nodes: readonly SceneNode[],
  side: -1 | 1,
  x: number,
  y: number,
  places: Map<string, Point>,
): void {
  for (const [index, { id, w, h }] of nodes.entries()) {
    const column = Math.floor(index / HOSTS_IN_COLUMN);
    const inColumn = Math.min(HOSTS_IN_COLUMN, nodes.length - column * HOSTS_IN_COLUMN);
    const row = index % HOSTS_IN_COLUMN;
    places.set(id, {
      x: side * (x + w / 2 + column * (w + 40)),
      y: y + (row - (inColumn - 1) / 2) * (h + HOST_GAP),
    });
  }
}

/** Servers on top, switches below, boards at switches below them, hosts beside. Deterministic. */
export function autoLayout(scene: Scene): Map<string, Point> {
  const several = [...scene.nodes.values()].filter(({ kind }) => kind === 'switch').length > 1;
  return several ? layoutOfSwitches(scene) : layoutOfOne(scene);
}

/** Around one switch: clients on the left, server hosts on the right. */
function layoutOfOne({ nodes }: Scene): Map<string, Point> {
  const all = [...nodes.values()];
  const servers = all.filter(({ kind }) => kind === 'server');
  const boards = all.filter(({ kind }) => kind === 'board');
  const switches = all.filter(({ kind }) => kind === 'switch');
  const hosts = all.filter(({ kind }) => kind === 'host');
  const places = new Map<string, Point>();
  const perRow = Math.max(3, Math.ceil(Math.sqrt(servers.length * 2)));
  const width = blockAbove(servers, perRow, places);
  const switchY = 120;
  const rows = [rowBelow(switches, switchY, places), rowBelow(boards, switchY + heightOf(switches) + GAP, places)];
  const clients = hosts.filter(({ role }) => role === 'client');
  const others = hosts.filter(({ role }) => role !== 'client');
  const hostsY = switchY + SWITCH_H / 2 + 20;
  const tallest = Math.min(HOSTS_IN_COLUMN, Math.max(clients.length, others.length)) * (HOST_H + HOST_GAP);
  // A column too tall for the space below the servers is placed next to them.
  const beside = tallest / 2 > hostsY - GAP / 2;
  const edge = Math.max(Math.max(...rows) / 2 + 110, beside ? width / 2 + GAP : Math.min(width / 2 - HOST_W / 2, 420));
  columnBeside(clients, -1, edge, hostsY, places);
  columnBeside(others, 1, edge, hostsY, places);
  return places;
}

const heightOf = (nodes: readonly SceneNode[]) => Math.max(0, ...nodes.map(({ h }) => h));

/** Positions from the layout, overridden by those that the user has set. */
export function placesWith(scene: Scene, moved: ReadonlyMap<string, Point>): Map<string, Point> {
  const places = autoLayout(scene);
  for (const [id, point] of moved) if (places.has(id)) places.set(id, point);
  return places;
}
