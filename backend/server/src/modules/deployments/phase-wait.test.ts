import { expect, it } from 'vitest';
import { AWAY_GRACE_MS, wayOf } from './phase-wait.js';

const PATIENCE_MS = 15_000;
const NOBODY = { waiting: false, supersede: false };
const ANOTHER = { waiting: true, supersede: false };
const stuck = (sinceMs: number, ...away: string[]) => ({ away, why: 'it is away', sinceMs });

it('goes on without nodes that are away in `clean`, although nobody waits', () => {
  const away = (sinceMs: number) => wayOf('clean', stuck(sinceMs, 'server-1'), NOBODY, PATIENCE_MS);
  expect([AWAY_GRACE_MS, PATIENCE_MS - 1, PATIENCE_MS].map(away)).toEqual(['wait', 'wait', 'leave-out']);
  expect(wayOf('clean', stuck(AWAY_GRACE_MS, 'server-1'), ANOTHER, PATIENCE_MS)).toBe('leave-out');
});

it('waits without end while nobody else does in every other phase, and for what is in the way', () => {
  for (const phase of ['prepare', 'steer', 'switch', 'settle'])
    expect(wayOf(phase, stuck(10 * PATIENCE_MS, 'server-1'), NOBODY, PATIENCE_MS)).toBe('wait');
  expect(wayOf('clean', stuck(10 * PATIENCE_MS), NOBODY, PATIENCE_MS)).toBe('wait');
});

it('makes way for another one before its traffic is steered', () => {
  const way = (sinceMs: number, ...away: string[]) => wayOf('prepare', stuck(sinceMs, ...away), ANOTHER, PATIENCE_MS);
  expect(way(AWAY_GRACE_MS - 1, 'server-1')).toBe('wait');
  expect(way(AWAY_GRACE_MS, 'server-1')).toBe('set-aside');
  expect(way(AWAY_GRACE_MS)).toBe('wait');
  expect(way(PATIENCE_MS)).toBe('FAILED');
  const superseding = { waiting: true, supersede: true };
  expect(wayOf('prepare', stuck(AWAY_GRACE_MS, 'server-1'), superseding, PATIENCE_MS)).toBe('ROLLED_BACK');
});
