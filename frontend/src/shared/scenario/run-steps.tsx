import type { ScenarioRun } from '@orrery/contract';
import { durationText } from '../format/time.js';
import { useNow } from '../stream/clock.js';
import { StepBadge } from '../ui/step-badge.js';
import classes from './run-steps.module.css';

type Step = ScenarioRun['steps'][number];

/** Detail of a step, with its progress if known. What had a progress is over with the step: `sending probes`. */
function detailOf({ state, detail, progress }: Step): string {
  if (state === 'done' && progress !== null) return '';
  const share = state === 'running' && progress !== null ? `${Math.round(progress * 100)} %` : '';
  return [detail, share].filter(Boolean).join(', ');
}

export function RunSteps({ run }: { readonly run: Pick<ScenarioRun, 'state' | 'steps'> }) {
  const now = useNow();
  return (
    <ol className={classes.steps} aria-label="Steps of the run">
      {run.steps.map((step) => (
        <li key={step.title} data-state={step.state}>
          <StepBadge state={step.state} lasting={run.state !== 'running'} />
          <span>
            {step.title}
            {detailOf(step) && <span className="muted"> · {detailOf(step)}</span>}
          </span>
          <span className="muted tabular">
            {step.started_ms === null ? step.state : durationText((step.ended_ms ?? now) - step.started_ms)}
          </span>
        </li>
      ))}
    </ol>
  );
}
