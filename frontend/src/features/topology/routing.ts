import { type Box, curve, facingSide, type Point, placeOnSide, type Side } from './geometry.js';
import type { NodeKind, Scene } from './model.js';

interface End {
  readonly link: string;
  readonly node: string;
  readonly other: string;
  readonly side: Side;
}

/** Stand above or below switches side by side: a link that left one at its side would pass behind the next. */
const STACKED: ReadonlySet<NodeKind> = new Set(['server', 'board']);
/** Between two boxes, for a link to leave them at top and bottom. */
const LEAST_GAP = 24;

/** Line of each link from `a` to `b`. Links at one side of a node are spread along it, ordered by their far ends. */
export function routeLinks(scene: Scene, places: ReadonlyMap<string, Point>): Map<string, Point[]> {
  const boxOf = (id: string): Box => ({ ...places.get(id)!, w: scene.nodes.get(id)!.w, h: scene.nodes.get(id)!.h });
  const kindOf = (id: string) => scene.nodes.get(id)!.kind;
  const sideOf = (node: string, other: string): Side => {
    const [a, b] = [boxOf(node), boxOf(other)];
    const isStacked =
      [node, other].some((id) => kindOf(id) === 'switch') && [node, other].some((id) => STACKED.has(kindOf(id)));
    const gap = Math.abs(b.y - a.y) - (a.h + b.h) / 2;
    if (isStacked && gap >= LEAST_GAP) return b.y > a.y ? 'bottom' : 'top';
    return facingSide(a, b);
  };
  const bySide = new Map<string, End[]>();
  const sides = new Map<string, Side>();
  for (const link of scene.links.values()) {
    for (const [node, other] of [
      [link.a, link.b],
      [link.b, link.a],
    ] as const) {
      const side = sideOf(node, other);
      sides.set(`${link.id} ${node}`, side);
      const key = `${node} ${side}`;
      const end = { link: link.id, node, other, side };
      const list = bySide.get(key);
      if (list) list.push(end);
      else bySide.set(key, [end]);
    }
  }
  const anchors = new Map<string, Point>();
  for (const ends of bySide.values()) {
    const along = ({ other, side }: End) => (side === 'top' || side === 'bottom' ? boxOf(other).x : boxOf(other).y);
    ends.sort((a, b) => along(a) - along(b) || a.link.localeCompare(b.link));
    for (const [index, { link, node, side }] of ends.entries()) {
      anchors.set(`${link} ${node}`, placeOnSide(boxOf(node), side, index, ends.length));
    }
  }
  const lines = new Map<string, Point[]>();
  for (const { id, a, b } of scene.links.values()) {
    const from = anchors.get(`${id} ${a}`)!;
    const to = anchors.get(`${id} ${b}`)!;
    lines.set(id, curve(from, sides.get(`${id} ${a}`)!, to, sides.get(`${id} ${b}`)!));
  }
  return lines;
}
