import { useEffect, useRef } from 'react';
import { type Quantity, quantityText } from '../format/quantity.js';
import { useCut, useSample, useSampleRing, useStale } from '../stream/hooks.js';
import type { Ring } from '../stream/ring.js';
import { usePalette } from '../theme/palette.js';

interface SparklineProps {
  readonly sampleKey: string;
  readonly quantity: Quantity;
  /** What is drawn, for a screen reader: "IDS, packets per second". */
  readonly label: string;
  readonly width?: number;
  readonly height?: number;
  readonly color?: string;
  /** Seconds from the left edge to the right one. */
  readonly windowS?: number;
}

function draw(canvas: HTMLCanvasElement, ring: Ring | undefined, color: string, windowS: number): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
    canvas.width = width * ratio;
    canvas.height = height * ratio;
  }
  const context = canvas.getContext('2d');
  if (!context) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const count = ring?.length ?? 0;
  if (!ring || count < 2) {
    context.strokeStyle = color;
    context.globalAlpha = 0.35;
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(0, height - 1.5);
    context.lineTo(width, height - 1.5);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
    return;
  }
  const end = ring.timeAt(count - 1);
  const start = end - windowS * 1000;
  let top = 0;
  for (let index = 0; index < count; index++) top = Math.max(top, ring.valueAt(index));
  const x = (t: number) => ((t - start) / (end - start)) * width;
  const y = (value: number) => height - 1.5 - (top > 0 ? value / top : 0) * (height - 3);
  let first = 0;
  while (first < count - 1 && ring.timeAt(first + 1) < start) first++;
  context.strokeStyle = color;
  context.fillStyle = color;
  context.lineWidth = 1.25;
  context.lineJoin = 'round';
  for (const [from, to] of ring.runs(first)) {
    context.beginPath();
    context.moveTo(x(ring.timeAt(from)), y(ring.valueAt(from)));
    for (let index = from + 1; index <= to; index++) context.lineTo(x(ring.timeAt(index)), y(ring.valueAt(index)));
    context.globalAlpha = 1;
    context.stroke();
    context.lineTo(x(ring.timeAt(to)), height);
    context.lineTo(x(ring.timeAt(from)), height);
    context.closePath();
    context.globalAlpha = 0.12;
    context.fill();
  }
  context.globalAlpha = 1;
}

/** The last half minute of one sample key; scaled from zero to its own highest value. Grey once no newer value arrives. */
export function Sparkline(props: SparklineProps) {
  const { sampleKey, quantity, label, width = 72, height = 20, color, windowS = 30 } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const palette = usePalette();
  const ring = useSampleRing(sampleKey);
  const stale = useStale(useSample(sampleKey)?.received_ms);
  const stroke = useCut() || stale ? palette.stale : (color ?? palette['series-1']);
  // With every render: the ring is the same object when its content changes.
  useEffect(() => {
    if (canvas.current) draw(canvas.current, ring, stroke, windowS);
  });
  const last = ring && ring.length > 0 ? ring.valueAt(ring.length - 1) : null;
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={`${label}: ${quantityText(quantity, last)}`}
      style={{ width, height, display: 'block' }}
    />
  );
}
