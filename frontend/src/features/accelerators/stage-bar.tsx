import type { Reconfiguration } from '@orrery/contract';
import { durationText } from '../../shared/format/time.js';
import classes from './accelerators.module.css';
import { STAGE_NAMES, stageSegments } from './stages.js';

/** The four stages side by side, with widths proportional to their durations. */
export function StageBar({
  reconfiguration,
  now,
}: {
  readonly reconfiguration: Reconfiguration;
  readonly now: number;
}) {
  const segments = stageSegments(reconfiguration, now);
  if (segments.length === 0) return <span className="muted">none begun</span>;
  const words = segments.map(
    ({ stage, duration_ms, state }) =>
      `${STAGE_NAMES[stage]} ${durationText(duration_ms)}${state === 'failed' ? ' (failed)' : ''}`,
  );
  return (
    <span className={classes.stageBar} role="img" aria-label={words.join(', ')} title={words.join('\n')}>
      {segments.map(({ stage, state, share }) => (
        <span key={stage} data-stage={stage} data-state={state} style={{ flexGrow: share }} />
      ))}
    </span>
  );
}
