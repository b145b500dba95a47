import { type LaneState, laneWord } from './lanes.js';
import classes from './lanes.module.css';

const STATES: readonly LaneState[] = [
  'empty',
  'quiescing',
  'loading',
  'configuring',
  'active',
  'faulty',
  'absent',
  'starting',
  'unknown',
];

/** The look of each state. */
export function LaneLegend() {
  return (
    <ul className={classes.legend} aria-label="States">
      {STATES.map((state) => (
        <li key={state}>
          <span className={classes.swatch}>
            <span className={classes.phase} data-state={state} />
          </span>
          {laneWord(state)}
        </li>
      ))}
    </ul>
  );
}
