import type { Operation } from '@orrery/contract';

export interface Progress {
  /** Steps that took effect. */
  readonly done: number;
  readonly total: number;
  readonly failed: number;
  readonly share: number;
}

/** A skipped step counts as done if the operation needed nothing of it, not if it was cancelled, taken back, set aside or left out. */
export function progressOf({ steps, state: of }: Pick<Operation, 'steps' | 'state'>): Progress {
  const needless = (detail: string | null) => !isWithoutEffect(of) && detail === null;
  const done = steps.filter(
    ({ state, detail }) => state === 'done' || (state === 'skipped' && needless(detail)),
  ).length;
  const failed = steps.filter(({ state }) => state === 'failed').length;
  return { done, failed, total: steps.length, share: steps.length === 0 ? 0 : done / steps.length };
}

export interface StepBar {
  /** Parts of the whole duration. */
  readonly offset: number;
  readonly length: number;
  readonly duration_ms: number | null;
}

/** Where each step lies on the time axis of its operation. */
export function stepBars(operation: Operation, nowMs: number): StepBar[] {
  const { steps, started_ms } = operation;
  const now = started_ms + durationMs(operation, nowMs);
  const end = Math.max(...steps.map((step) => step.ended_ms ?? (step.started_ms === null ? 0 : now)), started_ms + 1);
  const whole = end - started_ms;
  return steps.map((step) => {
    if (step.started_ms === null) return { offset: 0, length: 0, duration_ms: null };
    const duration_ms = Math.max(0, (step.ended_ms ?? now) - step.started_ms);
    const offset = Math.min(1, Math.max(0, (step.started_ms - started_ms) / whole));
    return { offset, length: Math.min(1 - offset, duration_ms / whole), duration_ms };
  });
}

const WITHOUT_EFFECT: readonly Operation['state'][] = ['FAILED_TEMP', 'FAILED', 'ROLLING_BACK', 'ROLLED_BACK'];
const isWithoutEffect = (state: Operation['state']) => WITHOUT_EFFECT.includes(state);

/** What the steps that are being worked on wait for; null: nothing that is known, or the operation is over. */
export function waitOf({ steps, state }: Pick<Operation, 'steps' | 'state'>): string | null {
  if (state !== 'PROCESSING') return null;
  const waits = steps.flatMap((step) => (step.state === 'running' && step.detail ? [step.detail] : []));
  return waits.length === 0 ? null : [...new Set(waits)].join('; ');
}

/** Time from the start until now or the end. */
export function durationMs({ state, started_ms, updated_ms }: Operation, now: number): number {
  return Math.max(0, (state === 'PROCESSING' || state === 'ROLLING_BACK' ? now : updated_ms) - started_ms);
}
