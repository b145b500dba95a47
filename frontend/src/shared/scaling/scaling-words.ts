import type { Scaling, ScalingPolicy, ScalingStep } from '@orrery/contract';

const STEPS: Readonly<Record<ScalingStep, string>> = {
  track: 'Whoever shares out its flows, engines or switches, begins to track them.',
  stage: 'Engines in front of its instances begin to track their flows; switches go on as before.',
  settle: 'Waits until all flows in progress are known.',
  drain: 'Instances that go get no new flows from now on.',
  move: 'Flows move to the instances of their ranges.',
  empty: 'Waits until the flows of what goes have ended.',
  resize: 'The number of instances changes.',
  restore: 'Ranges go back to what they were.',
};

/** What a change of the number of instances does now. */
export function stepText({ steps, step }: Pick<Scaling, 'steps' | 'step'>): string {
  const now = steps[step];
  return now === undefined ? 'Ends.' : STEPS[now];
}

interface PlannedStep {
  readonly idle_timeout_s: number;
  readonly drain_s: number;
  /** Its flows were shared out by switches, which go on as before. */
  readonly isStaged: boolean;
}

/** What a change will do in a step. */
export function plannedStepText(step: ScalingStep, { idle_timeout_s, drain_s, isStaged }: PlannedStep): string {
  if (step === 'settle') return `${STEPS.settle} That takes ${idle_timeout_s} s.`;
  if (step === 'empty') return `${STEPS.empty} That takes ${drain_s} s at most.`;
  return step === 'resize' && isStaged
    ? `${STEPS.resize} Engines keep flows in progress at their instances, until switches that can take over.`
    : STEPS[step];
}

/** Whether it waits, so that it can be stopped. */
export function waits({ steps, step, state }: Pick<Scaling, 'steps' | 'step' | 'state'>): boolean {
  return state === 'running' && (steps[step] === 'settle' || steps[step] === 'empty');
}

export const POLICY_STATES: Readonly<Record<ScalingPolicy['state'], string>> = {
  watching: 'within its limits',
  overloaded: 'overloaded',
  idle: 'idle',
  cooling: 'has changed: waits for the cool-down',
  scaling: 'is being scaled',
  disabled: 'disabled',
  'not-deployed': 'does not run',
  'not-judged': 'not judged',
};

/** The last change that can be undone: the newest of the NF, if it has ended well and what it made still stands. */
export function undoable(scalings: readonly Scaling[], count: number): Scaling | null {
  const [last] = scalings.filter(({ from, to }) => from !== to);
  return last?.state === 'completed' && last.to === count ? last : null;
}
