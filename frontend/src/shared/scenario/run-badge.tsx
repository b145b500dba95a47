import type { ScenarioRun } from '@orrery/contract';
import { StatusBadge } from '../ui/status-badge.js';
import { missedText } from './figure-text.js';

interface RunBadgeProps {
  readonly run: Pick<ScenarioRun, 'state' | 'figures'>;
  /** In place of the state of a run that goes on. */
  readonly doing?: string | null;
}

/** The state of a run, with the bars that it missed. */
export function RunBadge({ run, doing = null }: RunBadgeProps) {
  const { state } = run;
  const missed = missedText(run);
  return (
    <StatusBadge
      state={state}
      status={state === 'running' ? 'working' : missed === null ? undefined : 'degraded'}
      label={doing ?? (missed === null ? undefined : `${state}, ${missed}`)}
      lasting={state !== 'running'}
    />
  );
}
