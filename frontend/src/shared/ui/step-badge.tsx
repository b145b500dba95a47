import { StatusBadge } from './status-badge.js';

interface StepBadgeProps {
  /** Of an operation, a run of a scenario or a reconfiguration: a step that is running is not healthy yet. */
  readonly state: string;
  /** The step is over: its state remains true while the browser is cut off. */
  readonly lasting: boolean;
}

/** The state of a step, as an icon. */
export function StepBadge({ state, lasting }: StepBadgeProps) {
  return (
    <StatusBadge
      state={state}
      status={state === 'running' ? 'working' : undefined}
      label={state}
      lasting={lasting}
      compact
    />
  );
}
