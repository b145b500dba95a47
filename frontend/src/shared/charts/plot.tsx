import type { Event } from '@orrery/contract';
import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { GAP_MS } from '../stream/ring.js';
import { usePalette } from '../theme/palette.js';
import { crosshair, pointAt } from './crosshair.js';
import { type EventMark, markAt, marksBetween } from './event-marks.js';
import { EventsAt } from './events-at.js';
import { MarkSlider } from './mark-slider.js';
import { type PlotProps, plotOptions } from './plot-options.js';
import classes from './time-series-chart.module.css';

/** Marks nearer to each other than this are one, and the pointer is at a mark. */
const NEAR_PX = 8;

/** uPlot in its own box; all plots on the page share one crosshair. Other series or another scale are another plot. */
export default function Plot(props: PlotProps) {
  const { series, quantity, threshold } = props;
  const shape = series.map(({ label, dashed }) => `${label}${dashed}`).join('\n');
  return <MadePlot key={`${quantity} ${threshold} ${shape}`} {...props} />;
}

/** How long a distance on the time axis is. */
function secondsOf({ scales, bbox }: uPlot, px: number): number {
  const { min = 0, max = 0 } = scales.x ?? {};
  return ((max - min) * px * devicePixelRatio) / Math.max(1, bbox.width);
}

function marksOf(plot: uPlot, events: readonly Event[]): EventMark[] {
  const { min = 0, max = 0 } = plot.scales.x ?? {};
  return marksBetween(events, min, max, secondsOf(plot, NEAR_PX));
}

/** As it was drawn last. */
interface DrawnMark {
  readonly mark: EventMark;
  readonly left_px: number;
}

function drawnAt(plot: uPlot, marks: readonly EventMark[]): DrawnMark[] {
  return marks.map((mark) => ({ mark, left_px: plot.valToPos(mark.t_s, 'x') + plot.bbox.left / devicePixelRatio }));
}

function MadePlot(props: PlotProps) {
  const { title, data, ahead_ms, height, windowS, range, events } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const palette = usePalette();
  const latest = useRef(props);
  latest.current = props;
  const marked = useRef(events);
  const [drawn, setDrawn] = useState<readonly DrawnMark[]>([]);
  // Times of marks: under the pointer, and chosen by keys.
  const [pointed_s, setPointed] = useState<number | null>(null);
  const [chosen_s, setChosen] = useState<number | null>(null);

  // Data is set below.
  useEffect(() => {
    const element = box.current!;
    let led = false;
    const onCursor = (at: uPlot) => {
      latest.current.onCursor(at.cursor.idx ?? null);
      const { left = -1 } = at.cursor;
      if (!led) pointAt(left < 0 ? null : at.posToVal(left, 'x'), 'chart');
      const marks = left >= 0 && element.matches(':hover') ? marksOf(at, marked.current) : [];
      setPointed(markAt(marks, at.posToVal(left, 'x'), secondsOf(at, NEAR_PX))?.t_s ?? null);
    };
    const onDraw = (at: uPlot) => {
      const marks = marksOf(at, marked.current);
      setDrawn((before) => (before.length === 0 && marks.length === 0 ? before : drawnAt(at, marks)));
      return marks;
    };
    const made = new uPlot(
      plotOptions(latest.current, palette, element.clientWidth, onCursor, () => latest.current, onDraw) as never,
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

  useEffect(() => {
    marked.current = events;
    plot.current?.redraw(false);
  }, [events]);

  const shown = drawn.find(({ mark }) => mark.t_s === pointed_s) ?? drawn.find(({ mark }) => mark.t_s === chosen_s);
  return (
    <div className={classes.plot}>
      <div ref={box} style={{ height }} role="img" aria-label={`${title}, chart`} />
      {drawn.length > 0 && (
        <MarkSlider title={title} marks={drawn.map(({ mark }) => mark)} chosen_s={chosen_s} onChoose={setChosen} />
      )}
      {shown && <EventsAt {...shown} width_px={box.current?.clientWidth ?? 0} />}
    </div>
  );
}
