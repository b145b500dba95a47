import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { GAP_MS } from '../stream/ring.js';
import { usePalette } from '../theme/palette.js';
import { crosshair, pointAt } from './crosshair.js';
import { type PlotProps, plotOptions } from './plot-options.js';

/** uPlot in its own box; all plots on the page share one crosshair. Other series or another scale are another plot. */
export default function Plot(props: PlotProps) {
  const { series, quantity, threshold } = props;
  const shape = series.map(({ label, dashed }) => `${label}${dashed}`).join('\n');
  return <MadePlot key={`${quantity} ${threshold} ${shape}`} {...props} />;
}

function MadePlot(props: PlotProps) {
  const { data, ahead_ms, height, windowS, range } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const palette = usePalette();
  const latest = useRef(props);
  latest.current = props;

  // Data is set below.
  useEffect(() => {
    const element = box.current!;
    let led = false;
    const onCursor = (at: uPlot) => {
      latest.current.onCursor(at.cursor.idx ?? null);
      const { left = -1 } = at.cursor;
      if (!led) pointAt(left < 0 ? null : at.posToVal(left, 'x'), 'chart');
    };
    const made = new uPlot(
      plotOptions(latest.current, palette, element.clientWidth, onCursor, () => latest.current) as never,
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
  }, [height, palette]);

  useEffect(() => {
    const made = plot.current;
    if (!made) return;
    made.setData(data as never, false);
    const now = (performance.now() - ahead_ms) / 1000;
    const newest = data[0].at(-1) ?? now;
    // Until now, unless the newest point is as good as now.
    const end = range?.to_s ?? (Math.abs(now - newest) <= GAP_MS / 1000 ? newest : Math.max(now, newest));
    made.setScale('x', { min: range?.from_s ?? end - windowS, max: end });
  }, [data, ahead_ms, windowS, range?.from_s, range?.to_s]);

  return <div ref={box} style={{ height }} />;
}
