import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { type Quantity, quantityText } from '../../../shared/format/quantity.js';
import { clockText } from '../../../shared/format/time.js';
import { type PaletteName, usePalette } from '../../../shared/theme/palette.js';
import classes from './live-panel.module.css';
import type { Table } from './use-history.js';

interface TimeChartProps {
  readonly table: Table;
  /** Charts of one group share the crosshair. */
  readonly group: string;
  readonly quantity: Quantity;
  readonly label: string;
  readonly series: readonly { index: number; title: string; color: PaletteName; fill?: boolean }[];
}

/** Lines over time with a crosshair; its legend says the values there, else the newest ones. */
export function TimeChart({ table, group, quantity, label, series }: TimeChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = useRef<uPlot.AlignedData>([[]]);
  const palette = usePalette();
  data.current = [table.times.map((t) => t / 1000), ...series.map(({ index }) => table.columns[index] ?? [])];
  const shape = series.map(({ title, color }) => `${title}:${color}`).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: built anew when the look changes; data comes below
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const grid = { stroke: palette.border, width: 1 };
    const font = `11px ${getComputedStyle(element).fontFamily}`;
    const axis = { stroke: palette['text-muted'], grid, ticks: { show: false }, font } satisfies uPlot.Axis;
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height: element.clientHeight,
        padding: [8, 8, 0, 0],
        cursor: { sync: { key: group }, points: { size: 6 }, drag: { x: false, y: false } },
        legend: { show: false },
        scales: { y: { range: (_, __, high) => [0, high > 0 ? high * 1.1 : 1] } },
        axes: [
          { ...axis, size: 22, values: (_, ticks) => ticks.map((t) => clockText(t * 1000)), space: 90 },
          { ...axis, size: 74, values: (_, ticks) => ticks.map((value) => quantityText(quantity, value)), space: 28 },
        ],
        series: [
          {},
          ...series.map(({ title, color, fill }) => ({
            label: title,
            stroke: palette[color],
            width: 1.5,
            fill: fill ? `${palette[color]}1f` : undefined,
            points: { show: false },
            spanGaps: true,
          })),
        ],
        hooks: { setCursor: [(u) => describe(u)], setData: [(u) => describe(u)] },
      },
      data.current,
      element,
    );
    const describe = (u: uPlot) => {
      const at = u.cursor.idx ?? u.data[0].length - 1;
      const values = element.parentElement?.querySelectorAll('[data-value]');
      values?.forEach((cell, index) => {
        cell.textContent = quantityText(quantity, at < 0 ? null : (u.data[index + 1]?.[at] ?? null));
      });
    };
    plot.current = chart;
    describe(chart);
    const observer = new ResizeObserver(() =>
      chart.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
      plot.current = null;
    };
  }, [palette, group, quantity, shape]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the table is a new object for each change
  useEffect(() => plot.current?.setData(data.current), [table]);

  return (
    <figure className={classes.chart} aria-label={label}>
      <figcaption className={classes.legend}>
        <span className={classes.axisTitle}>{label}</span>
        {series.map(({ title, color }) => (
          <span key={title} className={classes.key}>
            <span className={classes.swatch} style={{ background: palette[color] }} />
            {title} <span className={classes.value} data-value />
          </span>
        ))}
      </figcaption>
      <div ref={frame} className={classes.plot} />
    </figure>
  );
}
