import type { Operation } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { durationMs, progressOf, stepBars, waitOf } from './progress.js';

const step = (state: Operation['steps'][number]['state'], started_ms: number | null, ended_ms: number | null) => ({
  ordinal: 0,
  kind: 'prepare-node',
  subject: 'server-1',
  summary: '',
  state,
  started_ms,
  ended_ms,
  detail: null,
});
const operation = {
  state: 'PROCESSING',
  started_ms: 1000,
  updated_ms: 1500,
  steps: [step('done', 1000, 1400), step('running', 1400, null), step('pending', null, null)],
} as unknown as Operation;

describe('progress of an operation', () => {
  it('counts skipped steps as done and failed ones not', () => {
    const steps = [step('done', 0, 1), step('skipped', null, null), step('failed', 0, 1), step('pending', null, null)];
    expect(progressOf({ steps, state: 'PROCESSING' })).toEqual({ done: 2, failed: 1, total: 4, share: 0.5 });
    expect(progressOf({ steps: [], state: 'PROCESSING' }).share).toBe(0);
  });

  it('counts nothing as done that was skipped because the operation was cancelled or left it out', () => {
    const skipped = step('skipped', null, 1);
    expect(progressOf({ steps: [skipped], state: 'ROLLED_BACK' })).toEqual({ done: 0, failed: 0, total: 1, share: 0 });
    expect(progressOf({ steps: [step('undone', 0, 1), skipped], state: 'FAILED' }).done).toBe(0);
    expect(progressOf({ steps: [skipped], state: 'FAILED_TEMP' }).done).toBe(0);
    const left = { ...skipped, detail: 'server-1 is away' };
    expect(progressOf({ steps: [step('done', 0, 1), left], state: 'PARTIALLY_COMPLETED' }).share).toBe(0.5);
  });

  it('tells what its running steps wait for, once each, until it is over', () => {
    const wait = (detail: string | null, state: 'running' | 'skipped' = 'running') => ({
      ...step(state, 0, null),
      detail,
    });
    const steps = [wait('the agent of leaf-1'), wait('the agent of leaf-1'), wait('server-2'), wait('old', 'skipped')];
    expect(waitOf({ steps, state: 'PROCESSING' })).toBe('the agent of leaf-1; server-2');
    expect(waitOf({ steps: [wait(null)], state: 'PROCESSING' })).toBeNull();
    expect(waitOf({ steps, state: 'ROLLED_BACK' })).toBeNull();
  });

  it('ends with its operation, also for a step that never ended', () => {
    expect(stepBars({ ...operation, state: 'FAILED_TEMP' }, 9000)[1]?.duration_ms).toBe(100);
  });

  it('lays the steps on one axis that ends now', () => {
    const [first, second, third] = stepBars(operation, 2000);
    expect(first).toEqual({ offset: 0, length: 0.4, duration_ms: 400 });
    expect(second).toEqual({ offset: 0.4, length: 0.6, duration_ms: 600 });
    expect(third?.duration_ms).toBeNull();
  });

  it('runs until it ends', () => {
    expect(durationMs(operation, 2000)).toBe(1000);
    expect(durationMs({ ...operation, state: 'COMPLETED' }, 9000)).toBe(500);
  });
});
