import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatQuantity, type Quantity, quantityText } from '../format/quantity.js';
import { clockText } from '../format/time.js';
import { type Palette, seriesColor, usePalette } from '../theme/palette.js';
import type { AlignedData } from './chart-data.js';
import { crosshair, pointAt } from './crosshair.js';
import { type ChartBand, type ChartLevel, placeLabels } from './marks.js';
import type { TimeRange } from './time-range.js';

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
  readonly levels?: readonly ChartLevel[];
  readonly bands?: readonly ChartBand[];
  /** Absent: `windowS` until the newest point. */
  readonly range?: TimeRange;
  /** Index on the time axis under the crosshair; null when it left. */
  readonly onCursor: (index: number | null) => void;
}

/** Dashes distinguish series without colour. */
const DASHES: (number[] | undefined)[] = [undefined, [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 6]];

/** Part of the plot, from the left, that stays free of labels. */
const LEAST_CLEAR = 0.45;

/** A dashed line across the plot. */
function level({ ctx, bbox }: uPlot, y: number, color: string): void {
  ctx.strokeStyle = color;
  ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
}

/** Draws the lines of all levels, then their labels on top. A label without room appears only in the legend. */
function drawLevels(plot: uPlot, levels: readonly ChartLevel[], quantity: Quantity, palette: Palette): void {
  const { ctx, bbox } = plot;
  const size = 10 * devicePixelRatio;
  ctx.save();
  ctx.font = `${size}px system-ui, sans-serif`;
  ctx.textAlign = 'right';
  ctx.textBaseline = 'bottom';
  const labels = levels.map(({ value, sign, name, series }) => {
    const y = Math.round(plot.valToPos(value, 'y', true));
    level(plot, y, seriesColor(palette, series));
    const text = `${sign} ${name} ${quantityText(quantity, value)}`;
    return { y, text, width: ctx.measureText(text).width + 4 * devicePixelRatio };
  });
  const places = placeLabels(labels, {
    left: bbox.left + bbox.width * LEAST_CLEAR,
    right: bbox.left + bbox.width,
    height: size * 1.2,
    gap: size,
  });
  for (const [index, { y, text, width }] of labels.entries()) {
    const right = places[index];
    if (right === null || right === undefined) continue;
    ctx.fillStyle = palette.surface;
    ctx.fillRect(right - width, y - size - devicePixelRatio, width, size + devicePixelRatio);
    ctx.fillStyle = palette['text-muted'];
    ctx.fillText(text, right - 2 * devicePixelRatio, y - devicePixelRatio);
  }
  ctx.restore();
}

function drawBands(plot: uPlot, bands: readonly ChartBand[], palette: Palette): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = palette.selected;
  for (const { from_ms, to_ms } of bands) {
    const left = Math.max(bbox.left, plot.valToPos(from_ms / 1000, 'x', true));
    const right = Math.min(bbox.left + bbox.width, plot.valToPos(to_ms / 1000, 'x', true));
    if (right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height);
  }
  ctx.restore();
}

/** Half of a time on the axis, less the padding behind the plot. */
const CUT_PX = 18;

/** Whether the end of the chart would cut the time below a point of the axis. */
function isCut({ scales, bbox }: uPlot, t_s: number): boolean {
  const { min = t_s, max = t_s } = scales.x ?? {};
  return (max - t_s) * (bbox.width / devicePixelRatio) < CUT_PX * (max - min);
}

function options(
  props: PlotProps,
  palette: Palette,
  width: number,
  onCursor: (plot: uPlot) => void,
  marks: () => Pick<PlotProps, 'levels' | 'bands'>,
) {
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
          const top = Math.max(max ?? 0, threshold ?? 0, ...(marks().levels ?? []).map(({ value }) => value));
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
        values: (plot: uPlot, splits: number[]) => splits.map((t) => (isCut(plot, t) ? '' : clockText(t * 1000))),
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
      drawClear: [(plot: uPlot) => drawBands(plot, marks().bands ?? [], palette)],
      draw: [
        (plot: uPlot) => {
          drawLevels(plot, marks().levels ?? [], quantity, palette);
          if (threshold === undefined) return;
          plot.ctx.save();
          level(plot, Math.round(plot.valToPos(threshold, 'y', true)), palette.failed);
          plot.ctx.restore();
        },
      ],
    },
  };
}

/** uPlot in its own box; all plots on the page share one crosshair. */
export default function Plot(props: PlotProps) {
  const { series, data, quantity, height, threshold, windowS, range } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const palette = usePalette();
  const latest = useRef(props);
  latest.current = props;
  const shape = series.map(({ label, dashed }) => `${label}${dashed}`).join('\n');

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for `series`; data is set below
  useEffect(() => {
    const element = box.current!;
    let led = false;
    const onCursor = (at: uPlot) => {
      latest.current.onCursor(at.cursor.idx ?? null);
      const { left = -1 } = at.cursor;
      if (!led) pointAt(left < 0 ? null : at.posToVal(left, 'x'), 'chart');
    };
    const made = new uPlot(
      options(latest.current, palette, element.clientWidth, onCursor, () => latest.current) as never,
      latest.current.data as never,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    const unfollow = crosshair.subscribe(({ t_s, from }) => {
      if (from !== 'lanes') return;
      led = true;
      made.setCursor({ left: t_s === null ? -10 : made.valToPos(t_s, 'x'), top: -10 }, true);
      led = false;
    });
    return () => {
      unfollow();
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, quantity, height, threshold, palette]);

  useEffect(() => {
    const made = plot.current;
    if (!made) return;
    made.setData(data as never, false);
    const end = range?.to_s ?? data[0].at(-1) ?? Date.now() / 1000;
    made.setScale('x', { min: range?.from_s ?? end - windowS, max: end });
  }, [data, windowS, range?.from_s, range?.to_s]);

  return <div ref={box} style={{ height }} />;
}
