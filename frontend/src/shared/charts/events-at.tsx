import { clockText } from '../format/time.js';
import { type EventMark, markText, worstFirst } from './event-marks.js';
import classes from './time-series-chart.module.css';

/** Lines of the box; the rest is counted. */
const MOST_LINES = 4;

interface EventsAtProps {
  readonly mark: EventMark;
  readonly left_px: number;
  /** Of the chart. */
  readonly width_px: number;
}

/** What happened at the mark under the pointer, the worst first. */
export function EventsAt({ mark, left_px, width_px }: EventsAtProps) {
  const events = worstFirst(mark);
  const isRight = left_px > width_px / 2;
  const more = events.length - MOST_LINES;
  return (
    <ul
      className={classes.events}
      role="status"
      style={isRight ? { right: width_px - left_px + 8 } : { left: left_px + 8 }}
    >
      {events.slice(0, MOST_LINES).map((event) => (
        <li key={event.id} data-severity={event.severity}>
          <span className="tabular">{clockText(event.t_ms)}</span> {markText(event)}
        </li>
      ))}
      {more > 0 && <li className="muted">and {more} more</li>}
    </ul>
  );
}
