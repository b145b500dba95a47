import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatQuantity, type Quantity } from '../format/quantity.js';
import { clockText } from '../format/time.js';
import { type Palette, seriesColor, usePalette } from '../theme/palette.js';
import type { AlignedData } from './chart-data.js';

export interface PlotSeries {
  readonly label: string;
  /** Drawn dashed, e.g. a prediction. */
  readonly dashed?: boolean;
}

interface PlotProps {
  readonly series: readonly PlotSeries[];
  readonly data: AlignedData;
  readonly quantity: Quantity;
  readonly height: number;
  readonly windowS: number;
  /** A horizontal line, e.g. the target of an objective. */
  readonly threshold?: number;
  /** Index on the time axis under the crosshair; null when it left. */
  readonly onCursor: (index: number | null) => void;
}

/** Dashes tell series apart without colour. */
const DASHES: (number[] | undefined)[] = [undefined, [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 6]];

function options(props: PlotProps, palette: Palette, width: number, onCursor: (plot: uPlot) => void) {
  const { quantity, height, threshold } = props;
  const grid = { stroke: palette.border, width: 1 };
  const axis = { stroke: palette['text-muted'], grid, ticks: { show: false }, font: '11px system-ui, sans-serif' };
  return {
    width,
    height,
    padding: [6, 8, 0, 0] as [number, number, number, number],
    cursor: {
      sync: { key: 'orrery' },
      points: { size: 6 },
      drag: { setScale: false, x: false, y: false },
      y: false,
    },
    legend: { show: false },
    scales: {
      x: { time: true },
      y: {
        range: (_: unknown, _min: number | null, max: number | null): [number, number] => {
          const top = Math.max(max ?? 0, threshold ?? 0);
          return [0, top > 0 ? top * 1.1 : 1];
        },
      },
    },
    axes: [
      {
        ...axis,
        size: 24,
        gap: 6,
        space: 70,
        values: (_: unknown, splits: number[]) => splits.map((t) => clockText(t * 1000)),
      },
      {
        ...axis,
        size: 74,
        space: 28,
        values: (_: unknown, splits: number[]) =>
          splits.map((value) => {
            const { value: digits, unit } = formatQuantity(quantity, value);
            return `${digits} ${unit}`;
          }),
      },
    ],
    series: [
      {},
      ...props.series.map(({ label, dashed }, index) => ({
        label,
        stroke: seriesColor(palette, index),
        width: 1.5,
        dash: dashed ? [4, 4] : DASHES[index % DASHES.length],
        spanGaps: true,
        points: { show: false },
      })),
    ],
    hooks: {
      setCursor: [onCursor],
      draw: [
        (plot: uPlot) => {
          if (threshold === undefined) return;
          const y = Math.round(plot.valToPos(threshold, 'y', true));
          const { ctx, bbox } = plot;
          ctx.save();
          ctx.strokeStyle = palette.failed;
          ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
          ctx.lineWidth = devicePixelRatio;
          ctx.beginPath();
          ctx.moveTo(bbox.left, y);
          ctx.lineTo(bbox.left + bbox.width, y);
          ctx.stroke();
          ctx.restore();
        },
      ],
    },
  };
}

/** uPlot in a box of its own; every plot on the page shares one crosshair. */
export default function Plot(props: PlotProps) {
  const { series, data, quantity, height, threshold, windowS } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const palette = usePalette();
  const latest = useRef(props);
  latest.current = props;
  const shape = series.map(({ label, dashed }) => `${label}${dashed}`).join('\n');

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for `series`; data is set below
  useEffect(() => {
    const element = box.current!;
    const onCursor = (at: uPlot) => latest.current.onCursor(at.cursor.idx ?? null);
    const made = new uPlot(
      options(latest.current, palette, element.clientWidth, onCursor) as never,
      latest.current.data as never,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, quantity, height, threshold, palette]);

  useEffect(() => {
    const made = plot.current;
    if (!made) return;
    made.setData(data as never, false);
    const end = data[0].at(-1) ?? Date.now() / 1000;
    made.setScale('x', { min: end - windowS, max: end });
  }, [data, windowS]);

  return <div ref={box} style={{ height }} />;
}
