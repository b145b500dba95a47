import type { SwitchState } from '@orrery/contract';
import { expect, it } from 'vitest';
import { hasReached, isReportCurrent, switchHealth } from './switch-text.js';

const switchOf = (connected: boolean, state: 'converged' | 'progressing' | 'failed', generation = 7) =>
  ({ connected, planned: { generation: 7 }, observed: { state, generation } }) as unknown as SwitchState;

it('calls the desired state reached only where the switch has converged to it', () => {
  expect(hasReached(switchOf(true, 'converged'))).toBe(true);
  expect(hasReached(switchOf(true, 'converged', 6))).toBe(false);
  expect(hasReached(switchOf(true, 'failed'))).toBe(false);
  expect(hasReached({ ...switchOf(true, 'converged'), observed: null })).toBe(false);
});

it('calls a report old where the switch does not answer or its agent is away', () => {
  expect(isReportCurrent(switchOf(true, 'progressing'))).toBe(true);
  expect(isReportCurrent(switchOf(true, 'failed'))).toBe(false);
  expect(isReportCurrent(switchOf(false, 'converged'))).toBe(false);
});

it('calls a switch that is away disconnected, also while its driver changes, and one that is lost so', () => {
  const told = { ...switchOf(true, 'converged'), description: {}, changing: 'waits' } as unknown as SwitchState;
  expect(switchHealth(told)).toEqual({ status: 'working', text: 'changing driver' });
  expect(switchHealth({ ...told, connected: false })).toEqual({
    status: 'failed',
    text: 'disconnected, changing driver',
  });
  expect(switchHealth({ ...told, lost: true })).toEqual({ status: 'failed', text: 'lost' });
});
