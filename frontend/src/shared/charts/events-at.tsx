import { clockText } from '../format/time.js';
import { type EventMark, markText, toldOf } from './event-marks.js';
import classes from './time-series-chart.module.css';

interface EventsAtProps {
  readonly mark: EventMark;
  readonly left_px: number;
  /** Of the chart. */
  readonly width_px: number;
}

/** What happened at the mark under the pointer or chosen by keys, the worst first. */
export function EventsAt({ mark, left_px, width_px }: EventsAtProps) {
  const { told, more } = toldOf(mark);
  const isRight = left_px > width_px / 2;
  return (
    <ul className={classes.events} style={isRight ? { right: width_px - left_px + 8 } : { left: left_px + 8 }}>
      {told.map((event) => (
        <li key={event.id} data-severity={event.severity}>
          <span className="tabular">{clockText(event.t_ms)}</span> {markText(event)}
        </li>
      ))}
      {more > 0 && <li className="muted">and {more} more</li>}
    </ul>
  );
}
