import type { Point } from './geometry.js';
import { HOST_H, HOST_W, type Scene, type SceneNode, SWITCH_H } from './model.js';
import { COLUMN_GAP, GAP, HOST_GAP, inRows, rowAt, rowsAbove, widthOf } from './rows.js';
import { layoutOfSwitches } from './switch-columns.js';

const HOSTS_IN_COLUMN = 16;

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
      x: side * (x + w / 2 + column * (w + COLUMN_GAP)),
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
  const rows = inRows(servers, Math.max(3, Math.ceil(Math.sqrt(servers.length * 2))));
  rowsAbove(rows, 0, places);
  const width = Math.max(0, ...rows.map(widthOf));
  const switchY = 120;
  const boardsY = switchY + heightOf(switches) + GAP;
  rowAt(switches, 0, ({ h }) => switchY + h / 2, places);
  rowAt(boards, 0, ({ h }) => boardsY + h / 2, places);
  const clients = hosts.filter(({ role }) => role === 'client');
  const others = hosts.filter(({ role }) => role !== 'client');
  const hostsY = switchY + SWITCH_H / 2 + 20;
  const tallest = Math.min(HOSTS_IN_COLUMN, Math.max(clients.length, others.length)) * (HOST_H + HOST_GAP);
  // A column too tall for the space below the servers is placed next to them.
  const beside = tallest / 2 > hostsY - GAP / 2;
  const below = Math.max(widthOf(switches), widthOf(boards));
  const edge = Math.max(below / 2 + 110, beside ? width / 2 + GAP : Math.min(width / 2 - HOST_W / 2, 420));
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
