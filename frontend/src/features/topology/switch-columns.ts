import type { Point } from './geometry.js';
import type { Scene, SceneNode } from './model.js';

const GAP = 56;
/** Between switches, so that their links are seen. */
const SWITCH_GAP = 120;
const SWITCH_TOP = 98;
/** How much lower switches are whose links pass by another one. */
const STEP = 90;
const HOST_GAP = 24;
const HOSTS_IN_COLUMN = 12;
/** Room for links between a switch and the hosts beside it. */
const BESIDE = 110;
/** More servers of one switch stand in several rows. */
const MOST_IN_ROW = 6;

const gapOf = ({ kind }: SceneNode) => (kind === 'host' ? HOST_GAP : GAP);
/** Of a row. */
const widthOf = (nodes: readonly SceneNode[]) =>
  nodes.reduce((sum, node, i) => sum + node.w + (i + 1 < nodes.length ? gapOf(node) : 0), 0);

/**
 * Each switch in a column with its servers above and its boards below, in an order in which linked switches are neighbours;
 * servers of two switches between them. Hosts of the outer switches are beside them, those of others below. So links pass
 * behind no box, and over each other only where a network has more of them than a plane can hold. Deterministic.
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
    let bottom = 0;
    for (const row of rows) {
      // Aligned at the bottom, so that their links to the switch are equally long.
      rowAt(row, middle, ({ h }) => bottom - h / 2, at);
      bottom -= Math.max(...row.map(({ h }) => h)) + GAP;
    }
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
  const left = new Set(switches);
  const linked = ({ id }: SceneNode) => [...left].filter((other) => neighbours.get(id)!.has(other.id));
  const fewest = (of: readonly SceneNode[]) =>
    of.reduce((best, one) => (linked(one).length < linked(best).length ? one : best));
  const ordered: SceneNode[] = [];
  while (left.size > 0) {
    const next = ordered.length > 0 ? linked(ordered.at(-1)!) : [];
    const one = fewest(next.length > 0 ? next : [...left]);
    ordered.push(one);
    left.delete(one);
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
  const perRow = nodes.length <= MOST_IN_ROW ? MOST_IN_ROW : Math.ceil(Math.sqrt(nodes.length * 2));
  return Array.from({ length: Math.ceil(nodes.length / perRow) }, (_, row) =>
    nodes.slice(row * perRow, (row + 1) * perRow),
  );
}

function rowAt(
  nodes: readonly SceneNode[],
  middle: number,
  yOf: (node: SceneNode) => number,
  at: Map<string, Point>,
): void {
  let x = middle - widthOf(nodes) / 2;
  for (const node of nodes) {
    at.set(node.id, { x: x + node.w / 2, y: yOf(node) });
    x += node.w + gapOf(node);
  }
}

/** From the height of the switch downwards: links of servers are above. As far away as the column is tall, so that links enter it from the side. */
function beside(nodes: readonly SceneNode[], side: -1 | 1, edge: number, top: number, at: Map<string, Point>): void {
  const lowest = Math.max(0, ...nodes.map(({ h }, index) => (index % HOSTS_IN_COLUMN) * (h + HOST_GAP)));
  const away = Math.max(BESIDE, lowest);
  for (const [index, { id, w, h }] of nodes.entries()) {
    const column = Math.floor(index / HOSTS_IN_COLUMN);
    at.set(id, {
      x: edge + side * (away + w / 2 + column * (w + 40)),
      y: top + h / 2 + (index % HOSTS_IN_COLUMN) * (h + HOST_GAP),
    });
  }
}

function centred(at: ReadonlyMap<string, Point>): Map<string, Point> {
  const xs = [...at.values()].map(({ x }) => x);
  const middle = (Math.min(...xs) + Math.max(...xs)) / 2;
  return new Map([...at].map(([id, { x, y }]) => [id, { x: x - middle, y }]));
}
