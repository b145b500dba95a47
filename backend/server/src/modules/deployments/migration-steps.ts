import type { FlowMigration, OperationStep } from '@orrery/contract';
import type { MoveStep } from './flow-move.js';
import { causeOf, type Doubt } from './move-doubt.js';

const STEPS: Readonly<Record<MoveStep, (migration: FlowMigration) => string>> = {
  'copy-flows': ({ from, to }) => `Copy the flows of ${from} to ${to}`,
  'follow-flows': ({ from }) => `Copy those again that packets use in ${from}`,
  'steer-flows': ({ from, to }) => `Let their packets wait, copy what ${from} knew last, and send them to ${to}`,
  'release-flows': ({ from }) => `Remove them from ${from}`,
};

/** Where flows are once a move has failed, and what to do where that is not known. */
export function whatIsLeft(migration: FlowMigration, doubt: Doubt | null): string {
  const { from, to, steered, released } = migration;
  if (doubt?.step === 'copy-flows')
    return `${whatIsLeft(migration, null)}; copies of more flows than are counted may be in ${to}: ${causeOf(doubt)} while they were being copied`;
  const again = `. Move them again to be sure: what has moved does not move twice, and the preview of the move counts what ${from} still has.`;
  const more = doubt ? `, at least: ${causeOf(doubt)} while they were being moved${again}` : '';
  if (released > 0) return `; ${released} flows are in ${to} alone${more}`;
  if (doubt?.step === 'release-flows')
    return `; flows may be in ${to} alone: ${causeOf(doubt)} while they were being removed${again}`;
  if (steered > 0) return `; ${steered} flows go to ${to} by now, which has their state, and the others stay${more}`;
  if (doubt)
    return `; flows may go to ${to} by now, which has their state, and the others stay: ${causeOf(doubt)} while they were being steered${again}`;
  return `; ${from} has all flows, and their packets still go there`;
}

export function stepsOf(migration: FlowMigration): OperationStep[] {
  const kinds: MoveStep[] = [
    'copy-flows',
    'follow-flows',
    ...(migration.steer ? (['steer-flows'] as const) : []),
    ...(migration.release ? (['release-flows'] as const) : []),
  ];
  return kinds.map((kind, ordinal) => ({
    ordinal,
    kind,
    subject: migration.from,
    summary: STEPS[kind](migration),
    state: 'pending',
    started_ms: null,
    ended_ms: null,
    detail: null,
  }));
}

/** The step runs, those before it are done; those after it that began in an earlier attempt keep the time. */
export function atStep(steps: readonly OperationStep[], kind: MoveStep): OperationStep[] {
  const now = Date.now();
  const at = steps.findIndex((step) => step.kind === kind);
  return steps.map((step, i) => {
    if (i < at) return { ...step, state: 'done', started_ms: step.started_ms ?? now, ended_ms: step.ended_ms ?? now };
    if (i > at) return { ...step, state: 'pending', ended_ms: null };
    return { ...step, state: 'running', started_ms: step.started_ms ?? now, ended_ms: null };
  });
}

/** What was running ends so; what had not begun is skipped. */
export function ended(steps: readonly OperationStep[], state: 'done' | 'failed', now: number): OperationStep[] {
  return steps.map((step) => {
    if (step.state === 'running') return { ...step, state, ended_ms: now };
    return step.state === 'pending' ? { ...step, state: 'skipped' } : step;
  });
}
