import type { ScenarioPlot } from '@orrery/contract';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { align } from '../../shared/charts/chart-data.js';
import { type Palette, seriesColor, usePalette } from '../../shared/theme/palette.js';

const HEIGHT_PX = 220;
const PUBLISHED_DASH = [4, 4];

const axisText = ({ label, unit }: ScenarioPlot['x']) => (unit ? `${label}, ${unit}` : label);

function options({ x, y, series }: ScenarioPlot, palette: Palette, width: number): uPlot.Options {
  const grid = { stroke: palette.border, width: 1 };
  const axis = { stroke: palette['text-muted'], grid, ticks: { show: false }, font: '11px system-ui, sans-serif' };
  const label = { labelFont: '11px system-ui, sans-serif', labelSize: 18 };
  return {
    width,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { drag: { setScale: false, x: false, y: false } },
    scales: { x: { time: false } },
    axes: [
      { ...axis, ...label, label: axisText(x), size: 24 },
      { ...axis, ...label, label: axisText(y), size: 52 },
    ],
    series: [
      {},
      ...series.map(({ name, published }, index) => ({
        label: name,
        stroke: seriesColor(palette, index),
        width: 1.5,
        spanGaps: true,
        points: { show: false },
        ...(published ? { dash: PUBLISHED_DASH } : {}),
      })),
    ],
  };
}

/** The lines of a plot; published ones are dashed. */
export default function Lines({ plot }: { readonly plot: ScenarioPlot }) {
  const box = useRef<HTMLDivElement>(null);
  const palette = usePalette();
  useEffect(() => {
    const element = box.current!;
    // `align` takes times in ms and gives seconds: any other axis goes through it unchanged.
    const points = plot.series.map((each) => each.points.map(([at, value]): [number, number] => [at * 1000, value]));
    const made = new uPlot(
      options(plot, palette, element.clientWidth),
      align(points, Number.NEGATIVE_INFINITY) as uPlot.AlignedData,
      element,
    );
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [plot, palette]);
  return <div ref={box} style={{ height: HEIGHT_PX }} />;
}
