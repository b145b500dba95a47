import type { Operation, OperationStep } from '@orrery/contract';
import { expect, it } from 'vitest';
import { awaiting, completed, rollingBack, withoutEffect } from './operation-steps.js';

const step = (subject: string, state: OperationStep['state'], detail: string | null = null): OperationStep => ({
  ordinal: 0,
  kind: 'prepare-node',
  subject,
  summary: '',
  state,
  started_ms: null,
  ended_ms: null,
  detail,
});
const operationOf = (...steps: OperationStep[]) => ({ steps, updated_ms: 1 }) as unknown as Operation;
const detailsOf = (operation: Operation | null) => operation?.steps.map(({ detail }) => detail) ?? null;

it('each running step names the agents that it waits for, and no other', () => {
  const operation = operationOf(
    step('server-1', 'done'),
    step('server-2', 'running'),
    step('server-3', 'running'),
    step('fabric', 'pending'),
  );
  const waiting = awaiting(operation, ['server-1', 'server-2'], 2);
  expect(detailsOf(waiting)).toEqual([null, 'waiting for the agent of server-2 (not connected)', null, null]);
  expect(waiting!.updated_ms).toBe(2);
  expect(awaiting(waiting!, ['server-1', 'server-2'], 3)).toBeNull();
  expect(detailsOf(awaiting(waiting!, [], 3))).toEqual([null, null, null, null]);
});

it('a step of the fabric names every switch', () => {
  const operation = operationOf(step('fabric', 'running'));
  expect(detailsOf(awaiting(operation, ['leaf-1', 'leaf-2'], 2))).toEqual([
    'waiting for the agents of leaf-1, leaf-2 (not connected)',
  ]);
  expect(awaiting(operation, [], 2)).toBeNull();
});

it('a step of an operation that is over waits for no agent', () => {
  const operation = operationOf(step('server-2', 'running'), step('server-3', 'pending'));
  const waiting = awaiting(operation, ['server-2'], 2)!;
  const back = rollingBack(waiting, 'Cancelled by bea', 3);
  expect(detailsOf(back)).toEqual([null, null]);
  expect(back.steps.map(({ state }) => state)).toEqual(['failed', 'skipped']);
  expect(detailsOf(withoutEffect(waiting, 'ROLLED_BACK', 'Cancelled by bea', 3))).toEqual([null, null]);
  expect(detailsOf(completed(waiting, 3))).toEqual([null, null]);
});

it('the step for which an operation is taken back says why', () => {
  const operation = operationOf(step('server-2', 'running', 'board-1 refuses the image'), step('server-3', 'pending'));
  const why = 'board-1 refuses the image (made way for another operation)';
  const over = withoutEffect(rollingBack(operation, why, 2), 'FAILED', why, 3);
  expect(detailsOf(over)).toEqual(['board-1 refuses the image', null]);
});
