import type { Operation } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { durationMs, progressOf, stepBars } from './progress.js';

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
    expect(progressOf({ steps })).toEqual({ done: 2, failed: 1, total: 4, share: 0.5 });
    expect(progressOf({ steps: [] }).share).toBe(0);
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
