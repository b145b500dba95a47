import type { Point } from './geometry.js';
import type { Scene, SceneNode } from './model.js';
import { COLUMN_GAP, GAP, HOST_GAP, inRows, rowAt, rowsAbove, widthOf } from './rows.js';

/** Between switches, so that their links are seen. */
const SWITCH_GAP = 120;
const SWITCH_TOP = 98;
/** How much lower switches are whose links pass by another one. */
const STEP = 90;
const HOSTS_IN_COLUMN = 12;
/** Room for links between a switch and the hosts beside it. */
const BESIDE = 110;
/** More servers of one switch stand in several rows. */
const MOST_IN_ROW = 6;

/**
 * Each switch in a column with its servers above and its boards below, in an order in which linked switches are neighbours;
 * servers of two switches between them. Hosts of the outer switches are beside them, those of others below. So links pass
 * behind no box, but for those of servers in an upper row, and of servers of two switches that are no neighbours; and over each
 * other only where a network has more of them than a plane can hold. Deterministic.
 */
export function layoutOfSwitches({ nodes, links }: Scene): Map<string, Point> {
  const all = [...nodes.values()];
  const neighbours = new Map(all.map(({ id }) => [id, new Set<string>()]));
  for (const { a, b } of links.values()) {
    neighbours.get(a)!.add(b);
    neighbours.get(b)!.add(a);
  }
  const switches = inOrder(
    all.filter(({ kind }) => kind === 'switch'),
    neighbours,
  );
  const placeOf = new Map(switches.map(({ id }, place) => [id, place]));
  /** Places of the switches that a node is linked to; of one that is linked to none, the first. */
  const placesOf = ({ id }: SceneNode) => {
    const found = [...neighbours.get(id)!].flatMap((other) => placeOf.get(other) ?? []);
    return found.length > 0 ? found : [0];
  };
  const mean = (node: SceneNode) => placesOf(node).reduce((sum, place) => sum + place, 0) / placesOf(node).length;
  const first = (node: SceneNode) => Math.min(...placesOf(node));
  const of = (kind: SceneNode['kind'], keyOf: (node: SceneNode) => number) => {
    const groups = new Map<number, SceneNode[]>();
    for (const node of all) if (node.kind === kind) groups.set(keyOf(node), [...(groups.get(keyOf(node)) ?? []), node]);
    return groups;
  };
  const servers = of('server', mean);
  const boards = of('board', first);
  const hosts = of('host', first);
  const last = switches.length - 1;
  /** In one row, so that links to hosts pass beside boards. */
  const below = (place: number) => [
    ...(boards.get(place) ?? []),
    ...(place > 0 && place < last ? (hosts.get(place) ?? []) : []),
  ];
  const inner = passedBy(switches, neighbours, placeOf);
  const topOf = (place: number) => SWITCH_TOP + (inner.size === 0 || inner.has(place) ? 0 : STEP);

  const at = new Map<string, Point>();
  const columns = [...new Set([...switches.keys(), ...servers.keys()])].sort((a, b) => a - b);
  let x = 0;
  for (const key of columns) {
    const rows = rowsOf(servers.get(key) ?? []);
    const node = switches[key];
    const under = node ? below(key) : [];
    const width = Math.max(...rows.map(widthOf), node ? node.w + SWITCH_GAP - GAP : 0, widthOf(under));
    const middle = x + width / 2;
    rowsAbove(rows, middle, at);
    if (node) {
      at.set(node.id, { x: middle, y: topOf(key) + node.h / 2 });
      const farthest = (widthOf(under) - node.w) / 2;
      const top = topOf(key) + node.h + Math.max(GAP, under.some(({ kind }) => kind === 'host') ? farthest : 0);
      rowAt(under, middle, ({ h }) => top + h / 2, at);
    }
    x += width + GAP;
  }
  for (const [place, side] of [
    [0, -1],
    [last, 1],
  ] as const) {
    const node = switches[place]!;
    const edge = at.get(node.id)!.x + (side * Math.max(node.w, widthOf(below(place)))) / 2;
    beside(hosts.get(place) ?? [], side, edge, topOf(place), at);
  }
  return centred(at);
}

/** Begins at one with the fewest linked switches, and goes on with a linked one as long as there is any. */
function inOrder(switches: readonly SceneNode[], neighbours: ReadonlyMap<string, ReadonlySet<string>>): SceneNode[] {
  const left = new Map(switches.map((one) => [one.id, one]));
  /** By switch, how many of those linked to it are left. */
  const linked = new Map(
    switches.map(({ id }) => [id, [...neighbours.get(id)!].filter((other) => left.has(other)).length]),
  );
  const fewest = (of: readonly SceneNode[]) =>
    of.reduce((best, one) => (linked.get(one.id)! < linked.get(best.id)! ? one : best));
  const ordered: SceneNode[] = [];
  while (left.size > 0) {
    const latest = ordered.at(-1);
    const next = latest ? [...left.values()].filter(({ id }) => neighbours.get(latest.id)!.has(id)) : [];
    const one = fewest(next.length > 0 ? next : [...left.values()]);
    ordered.push(one);
    left.delete(one.id);
    for (const id of neighbours.get(one.id)!) if (left.has(id)) linked.set(id, linked.get(id)! - 1);
  }
  return ordered;
}

/** Places of switches that a link of two others passes. */
function passedBy(
  switches: readonly SceneNode[],
  neighbours: ReadonlyMap<string, ReadonlySet<string>>,
  placeOf: ReadonlyMap<string, number>,
): ReadonlySet<number> {
  const passed = new Set<number>();
  for (const [place, { id }] of switches.entries())
    for (const other of neighbours.get(id)!) {
      const end = placeOf.get(other) ?? place;
      for (let between = place + 1; between < end; between++) passed.add(between);
    }
  return passed;
}

function rowsOf(nodes: readonly SceneNode[]): SceneNode[][] {
  return inRows(nodes, nodes.length <= MOST_IN_ROW ? MOST_IN_ROW : Math.ceil(Math.sqrt(nodes.length * 2)));
}

/** From the height of the switch downwards: links of servers are above. As far away as the column is tall, so that links enter it from the side. */
function beside(nodes: readonly SceneNode[], side: -1 | 1, edge: number, top: number, at: Map<string, Point>): void {
  const lowest = Math.max(0, ...nodes.map(({ h }, index) => (index % HOSTS_IN_COLUMN) * (h + HOST_GAP)));
  const away = Math.max(BESIDE, lowest);
  for (const [index, { id, w, h }] of nodes.entries()) {
    const column = Math.floor(index / HOSTS_IN_COLUMN);
    at.set(id, {
      x: edge + side * (away + w / 2 + column * (w + COLUMN_GAP)),
      y: top + h / 2 + (index % HOSTS_IN_COLUMN) * (h + HOST_GAP),
    });
  }
}

function centred(at: ReadonlyMap<string, Point>): Map<string, Point> {
  const xs = [...at.values()].map(({ x }) => x);
  const middle = (Math.min(...xs) + Math.max(...xs)) / 2;
  return new Map([...at].map(([id, { x, y }]) => [id, { x: x - middle, y }]));
}
