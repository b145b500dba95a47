export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Axis-parallel, by its centre. */
export interface Box extends Point {
  readonly w: number;
  readonly h: number;
}

export type Side = 'top' | 'right' | 'bottom' | 'left';

export function contains(box: Box, point: Point, slack = 0): boolean {
  return Math.abs(point.x - box.x) <= box.w / 2 + slack && Math.abs(point.y - box.y) <= box.h / 2 + slack;
}

/** Side of `box` that faces `other`: across the wider of the two gaps between them. */
export function facingSide(box: Box, other: Box): Side {
  const dx = other.x - box.x;
  const dy = other.y - box.y;
  const gapX = Math.abs(dx) - (box.w + other.w) / 2;
  const gapY = Math.abs(dy) - (box.h + other.h) / 2;
  if (gapX > gapY) return dx > 0 ? 'right' : 'left';
  return dy > 0 ? 'bottom' : 'top';
}

/** The nth of `count` places, evenly spread along a side. */
export function placeOnSide(box: Box, side: Side, index: number, count: number): Point {
  const part = (index + 1) / (count + 1) - 0.5;
  switch (side) {
    case 'top':
      return { x: box.x + part * box.w, y: box.y - box.h / 2 };
    case 'bottom':
      return { x: box.x + part * box.w, y: box.y + box.h / 2 };
    case 'left':
      return { x: box.x - box.w / 2, y: box.y + part * box.h };
    case 'right':
      return { x: box.x + box.w / 2, y: box.y + part * box.h };
  }
}

const NORMAL: Record<Side, Point> = {
  top: { x: 0, y: -1 },
  bottom: { x: 0, y: 1 },
  left: { x: -1, y: 0 },
  right: { x: 1, y: 0 },
};

const CURVE_POINTS = 20;

/** A smooth line that leaves and enters at right angles to the sides, as points. */
export function curve(from: Point, fromSide: Side, to: Point, toSide: Side): Point[] {
  const across = fromSide === 'left' || fromSide === 'right' ? Math.abs(to.x - from.x) : Math.abs(to.y - from.y);
  // No further than the middle between the sides, where it would bulge behind what is beside them.
  const reach = Math.max(24, Math.min(Math.hypot(to.x - from.x, to.y - from.y) * 0.4, across * 0.6));
  const c1 = { x: from.x + NORMAL[fromSide].x * reach, y: from.y + NORMAL[fromSide].y * reach };
  const c2 = { x: to.x + NORMAL[toSide].x * reach, y: to.y + NORMAL[toSide].y * reach };
  return Array.from({ length: CURVE_POINTS + 1 }, (_, index) => {
    const t = index / CURVE_POINTS;
    const u = 1 - t;
    const [a, b, c, d] = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t];
    return {
      x: a * from.x + b * c1.x + c * c2.x + d * to.x,
      y: a * from.y + b * c1.y + c * c2.y + d * to.y,
    };
  });
}

/** The same line, moved to its right-hand side (seen along it). */
export function offsetLine(line: readonly Point[], distance: number): Point[] {
  return line.map((point, index) => {
    const before = line[Math.max(0, index - 1)]!;
    const after = line[Math.min(line.length - 1, index + 1)]!;
    const length = Math.hypot(after.x - before.x, after.y - before.y) || 1;
    return {
      x: point.x - ((after.y - before.y) / length) * distance,
      y: point.y + ((after.x - before.x) / length) * distance,
    };
  });
}

export function distanceToLine(line: readonly Point[], point: Point): number {
  let best = Number.POSITIVE_INFINITY;
  for (let index = 1; index < line.length; index++) {
    const a = line[index - 1]!;
    const b = line[index]!;
    const dx = b.x - a.x;
    const dy = b.y - a.y;
    const t = Math.max(0, Math.min(1, ((point.x - a.x) * dx + (point.y - a.y) * dy) / (dx * dx + dy * dy || 1)));
    best = Math.min(best, Math.hypot(point.x - a.x - t * dx, point.y - a.y - t * dy));
  }
  return best;
}

export interface Extent {
  readonly x0: number;
  readonly y0: number;
  readonly x1: number;
  readonly y1: number;
}

/** The smallest frame around boxes; null when there are none. */
export function extentOf(boxes: readonly Box[]): Extent | null {
  if (boxes.length === 0) return null;
  return {
    x0: Math.min(...boxes.map(({ x, w }) => x - w / 2)),
    y0: Math.min(...boxes.map(({ y, h }) => y - h / 2)),
    x1: Math.max(...boxes.map(({ x, w }) => x + w / 2)),
    y1: Math.max(...boxes.map(({ y, h }) => y + h / 2)),
  };
}

/**
 * Scale and shift that show an extent in a window, at a scale of at least `minScale` and at most `maxScale`; its middle where it
 * does not fit.
 */
export function fitTransform(
  extent: Extent,
  width: number,
  height: number,
  margin: number,
  maxScale: number,
  minScale = 0.05,
): { k: number; x: number; y: number } {
  const w = Math.max(1, extent.x1 - extent.x0);
  const h = Math.max(1, extent.y1 - extent.y0);
  const k = Math.min(maxScale, Math.max(minScale, Math.min((width - 2 * margin) / w, (height - 2 * margin) / h)));
  return {
    k,
    x: width / 2 - (k * (extent.x0 + extent.x1)) / 2,
    y: height / 2 - (k * (extent.y0 + extent.y1)) / 2,
  };
}
