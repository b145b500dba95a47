import type { Reconfiguration } from '@orrery/contract';
import { shareOf, type TimeRange } from '../../shared/charts/time-range.js';
import { durationText } from '../../shared/format/time.js';
import classes from './lanes.module.css';
import { STAGE_NAMES, stageSpans } from './stages.js';

interface StageLaneProps {
  readonly reconfigurations: readonly Reconfiguration[];
  readonly range: TimeRange;
  /** Until when the state of boards is known. */
  readonly known_ms: number;
}

/** The four stages of each reconfiguration (CoNFV IV-D), above the lanes that they change. */
export function StageLane({ reconfigurations, range, known_ms }: StageLaneProps) {
  const spans = reconfigurations
    .filter(({ ended_ms }) => (ended_ms ?? known_ms) >= range.from_s * 1000)
    .flatMap(({ id, stages }) => stageSpans({ stages }, known_ms).map((span) => ({ id, ...span })));
  if (spans.length === 0) return null;
  return (
    <div className={classes.lane}>
      <span className={classes.label}>stages</span>
      <div className={classes.track} data-plain>
        {spans.map(({ id, stage, state, from_ms, to_ms }) => {
          const left = shareOf(range, from_ms);
          const width = shareOf(range, to_ms) - left;
          if (width <= 0) return null;
          const words = `${STAGE_NAMES[stage]} ${durationText(to_ms - from_ms)}`;
          return (
            <span
              key={`${id}${stage}`}
              className={classes.stage}
              data-stage={stage}
              data-state={state}
              title={`${words}${state === 'failed' ? ', failed' : ''}`}
              style={{ left: `${left * 100}%`, width: `${width * 100}%` }}
            >
              <span className={classes.words}>{words}</span>
            </span>
          );
        })}
      </div>
    </div>
  );
}
