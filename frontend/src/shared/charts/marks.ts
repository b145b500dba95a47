/** A dashed level across a chart, in the colour of its series; null: it is of all. */
export interface ChartLevel {
  readonly value: number;
  /** What crossing it means: upwards or downwards. */
  readonly sign: '↑' | '↓';
  /** Of what the series is about. */
  readonly name: string;
  readonly series: number | null;
}

/** A highlighted period, over the whole height. */
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
 * Right edges of equally high labels on lines that may be close together: as far right as possible without overlap. Null: no
 * room between `left` and `right`.
 */
export function placeLabels(
  labels: readonly LabelBox[],
  { left, right, height, gap }: { left: number; right: number; height: number; gap: number },
): (number | null)[] {
  const placed: { y: number; from: number }[] = [];
  return labels.map(({ y, width }) => {
    const near = placed.filter((other) => Math.abs(other.y - y) < height);
    // Boxes are filled from the right, so there is room left of the leftmost neighbour.
    const end = near.reduce((least, { from }) => Math.min(least, from - gap), right);
    if (end - width < left) return null;
    placed.push({ y, from: end - width });
    return end;
  });
}
