import type { Loop } from '@orrery/contract';
import { expect, test } from 'vitest';
import { nextRun, stateDetail } from './columns.js';

const loop: Loop = {
  id: 'policy-watch',
  title: 'Policy watcher',
  purpose: 'Watches.',
  state: 'running',
  paused: null,
  at_work: [],
  runs: 3,
  last_run_ms: 1000,
  next_run_ms: null,
  last_decision: null,
  failures: 0,
  last_error: null,
};

test('says when a loop runs next', () => {
  expect(nextRun(loop, 1000)).toBe('on a change');
  expect(nextRun({ ...loop, next_run_ms: 3000 }, 1000)).toBe('in 2.0 s');
  expect(nextRun({ ...loop, next_run_ms: 500, at_work: [''] }, 1000)).toBe('now');
  expect(nextRun({ ...loop, state: 'paused', at_work: [''] }, 1000)).toBe('when resumed');
});

test('says who paused a loop and why it backs off', () => {
  expect(stateDetail(loop)).toBeNull();
  expect(stateDetail({ ...loop, state: 'paused', paused: { by: 'ann', since_ms: 1 } })).toBe('by ann');
  expect(stateDetail({ ...loop, state: 'backing-off', failures: 1, last_error: 'store away' })).toBe(
    '1 run failed: store away',
  );
});
