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
