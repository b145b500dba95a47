/** Path of an edge and the place of its label; `offset` separates edges between the same two nodes, in pixels. */
export function edgePath(
  source: { x: number; y: number },
  target: { x: number; y: number },
  offset: number,
): { path: string; label: { x: number; y: number } } {
  const reach = Math.max(48, Math.abs(target.x - source.x) / 2);
  const first = { x: source.x + reach, y: source.y + offset };
  const second = { x: target.x - reach, y: target.y + offset };
  const path = `M${source.x},${source.y} C${first.x},${first.y} ${second.x},${second.y} ${target.x},${target.y}`;
  // A cubic at its middle: the ends weigh 1/8, the control points 3/8.
  const label = {
    x: (source.x + 3 * first.x + 3 * second.x + target.x) / 8,
    y: (source.y + 3 * first.y + 3 * second.y + target.y) / 8,
  };
  return { path, label };
}

/** Distance of the middle of edge `index` of `count` parallel ones, so that their labels do not cover each other. */
export function parallelOffset(index: number, count: number): number {
  return (index - (count - 1) / 2) * 56;
}
