/** A dashed level across a chart, in the colour of the series that it is about. */
export interface ChartLevel {
  readonly value: number;
  /** What crossing it means: upwards or downwards. */
  readonly sign: '↑' | '↓';
  /** Of what the series is about. */
  readonly name: string;
  readonly series: number;
}

/** A time that is set off, over the whole height. */
export interface ChartBand {
  readonly from_ms: number;
  readonly to_ms: number;
}

interface LabelBox {
  /** Of its lower edge; larger is further down. */
  readonly y: number;
  readonly width: number;
}

/**
 * Right edges of labels of one height, which stand on lines that may be close to each other: as far right as they go
 * without lying on one another. Null: there is no room between `left` and `right`.
 */
export function placeLabels(
  labels: readonly LabelBox[],
  { left, right, height, gap }: { left: number; right: number; height: number; gap: number },
): (number | null)[] {
  const placed: { y: number; from: number }[] = [];
  return labels.map(({ y, width }) => {
    const near = placed.filter((other) => Math.abs(other.y - y) < height);
    // Boxes fill up from the right, so that the leftmost of those beside it is where there is room.
    const end = near.reduce((least, { from }) => Math.min(least, from - gap), right);
    if (end - width < left) return null;
    placed.push({ y, from: end - width });
    return end;
  });
}
