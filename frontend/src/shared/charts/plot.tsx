import type { Event } from '@orrery/contract';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { GAP_MS } from '../stream/ring.js';
import { usePalette } from '../theme/palette.js';
import { crosshair, pointAt } from './crosshair.js';
import { type EventMark, markAt, markBeside, marksBetween } from './event-marks.js';
import { EventsAt } from './events-at.js';
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

interface Pointed {
  readonly mark: EventMark;
  readonly left_px: number;
}

function MadePlot(props: PlotProps) {
  const { title, data, ahead_ms, height, windowS, range, events } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const palette = usePalette();
  const latest = useRef(props);
  latest.current = props;
  const marked = useRef(events);
  const [pointed, setPointed] = useState<Pointed | null>(null);

  // Data is set below.
  useEffect(() => {
    const element = box.current!;
    let led = false;
    const onCursor = (at: uPlot) => {
      latest.current.onCursor(at.cursor.idx ?? null);
      const { left = -1 } = at.cursor;
      if (!led) pointAt(left < 0 ? null : at.posToVal(left, 'x'), 'chart');
      const marks = left >= 0 && element.matches(':hover') ? marksOf(at, marked.current) : [];
      const mark = markAt(marks, at.posToVal(left, 'x'), secondsOf(at, NEAR_PX));
      setPointed((before) => {
        if (mark?.t_s === before?.mark.t_s && mark?.events.length === before?.mark.events.length) return before;
        return mark && { mark, left_px: at.valToPos(mark.t_s, 'x') + at.bbox.left / devicePixelRatio };
      });
    };
    const made = new uPlot(
      plotOptions(
        latest.current,
        palette,
        element.clientWidth,
        onCursor,
        () => latest.current,
        (at) => marksOf(at, marked.current),
      ) as never,
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

  const goTo = (event: KeyboardEvent) => {
    const at = plot.current;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === 'Escape') setPointed(null);
    if (!at || step === undefined) return;
    event.preventDefault();
    const mark = markBeside(marksOf(at, events), pointed?.mark.t_s ?? null, step);
    setPointed(mark && { mark, left_px: at.valToPos(mark.t_s, 'x') + at.bbox.left / devicePixelRatio });
  };

  return (
    <div className={classes.plot}>
      <div
        ref={box}
        className={classes.plotBox}
        style={{ height }}
        role="img"
        aria-label={`${title}, chart. Arrow keys go through its events.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go through what the chart marks
        tabIndex={0}
        onKeyDown={goTo}
        onBlur={() => setPointed(null)}
      />
      {pointed && <EventsAt {...pointed} width_px={box.current?.clientWidth ?? 0} />}
    </div>
  );
}
