import type { Event } from '@orrery/contract';
import type uPlot from 'uplot';
import type { Quantity } from '../format/quantity.js';
import { clockText } from '../format/time.js';
import { type Palette, seriesColor } from '../theme/palette.js';
import { axisTexts } from './axis-texts.js';
import type { AlignedData } from './chart-data.js';
import { drawBands, drawEvents, drawLevels, drawThreshold } from './draw-marks.js';
import type { EventMark } from './event-marks.js';
import type { ChartBand, ChartLevel } from './marks.js';
import type { TimeRange } from './time-range.js';

interface PlotSeries {
  readonly label: string;
  /** Drawn dashed, e.g. a prediction. */
  readonly dashed?: boolean;
}

export interface PlotProps {
  readonly title: string;
  /** What it marks, oldest first. */
  readonly events: readonly Event[];
  readonly series: readonly PlotSeries[];
  readonly data: AlignedData;
  /** How far this browser's monotonic clock is ahead of the clock of the data. */
  readonly ahead_ms: number;
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

const [MINUTE_S, HOUR_S, DAY_S] = [60, 3600, 86_400];
/** Between times of the axis: those of uPlot, and two minutes, without which a narrow plot of five minutes names no time. */
const STEPS_S = [
  ...[1, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE_S),
  ...[1, 2, 3, 4, 6, 8, 12].map((count) => count * HOUR_S),
  ...[1, 2, 3, 5, 10, 15, 30].map((count) => count * DAY_S),
];

/** Half of a time on the axis, less the padding behind the plot. */
const CUT_PX = 18;

/** Whether the end of the chart would cut the time below a point of the axis. */
function isCut({ scales, bbox }: uPlot, t_s: number): boolean {
  const { min = t_s, max = t_s } = scales.x ?? {};
  return (max - t_s) * (bbox.width / devicePixelRatio) < CUT_PX * (max - min);
}

/** What uPlot is made with; `marks` are read at every drawing, so that they may change without a new plot. */
export function plotOptions(
  props: PlotProps,
  palette: Palette,
  width: number,
  onCursor: (plot: uPlot) => void,
  marks: () => Pick<PlotProps, 'levels' | 'bands'>,
  events: (plot: uPlot) => readonly EventMark[],
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
        incrs: STEPS_S,
        values: (plot: uPlot, splits: number[]) => splits.map((t) => (isCut(plot, t) ? '' : clockText(t * 1000))),
      },
      {
        ...axis,
        size: 74,
        space: 28,
        values: (_: unknown, splits: number[]) => axisTexts(quantity, splits),
      },
    ],
    series: [
      {},
      ...props.series.map(({ label, dashed }, index) => ({
        label,
        stroke: seriesColor(palette, index),
        width: 1.5,
        dash: dashed ? [4, 4] : DASHES[index % DASHES.length],
        points: { show: false },
      })),
    ],
    hooks: {
      setCursor: [onCursor],
      drawClear: [(plot: uPlot) => drawBands(plot, marks().bands ?? [], palette)],
      draw: [
        (plot: uPlot) => {
          drawEvents(plot, events(plot), palette);
          drawLevels(plot, marks().levels ?? [], quantity, palette);
          if (threshold !== undefined) drawThreshold(plot, threshold, palette);
        },
      ],
    },
  };
}
