import type { SloAlert } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HistoryClock } from './history-clock.js';
import { byWallClock } from './history-view.js';

const EPOCH_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

it('goes on with the monotonic clock, wherever the wall clock jumps', () => {
  const step = fc.record({
    elapsedMs: fc.integer({ min: 0, max: 60_000 }),
    jumpMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 2001, max: YEAR_MS }),
      fc.integer({ min: -YEAR_MS, max: -2001 }),
    ),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const clock = new HistoryClock(null);
      let [wallMs, monotonicMs] = [EPOCH_MS, 500];
      expect(clock.at(wallMs, monotonicMs)).toBe(EPOCH_MS);
      for (const { elapsedMs, jumpMs } of steps) {
        monotonicMs += elapsedMs;
        wallMs += elapsedMs + jumpMs;
        const now = clock.at(wallMs, monotonicMs);
        expect(now).toBeCloseTo(EPOCH_MS + monotonicMs - 500, 3);
        expect(clock.wallOf(now)).toBe(Math.max(0, Math.round(wallMs)));
        expect(clock.historyOf(wallMs)).toBeCloseTo(now, 3);
      }
    }),
    { numRuns: 100 },
  );
});

it('follows a wall clock that is set right in small steps, and never goes back', () => {
  const clock = new HistoryClock(null);
  clock.at(EPOCH_MS, 0);
  expect(clock.at(EPOCH_MS + 11_500, 10_000)).toBe(EPOCH_MS + 11_500);
  expect(clock.at(EPOCH_MS + 10_500, 10_000)).toBe(EPOCH_MS + 11_500);
  expect(clock.at(EPOCH_MS + 12_500, 12_000)).toBe(EPOCH_MS + 12_500);
});

it('goes on after a restart: not back, and for no longer than a day', () => {
  const stored = { history_ms: EPOCH_MS, wall_ms: EPOCH_MS + YEAR_MS };
  const after = (downMs: number) => new HistoryClock(stored).at(EPOCH_MS + YEAR_MS + downMs, 3) - EPOCH_MS;
  expect([after(90_000), after(-5000), after(YEAR_MS)]).toEqual([90_000, 0, DAY_MS]);
});

it('tells what a wall clock said before it jumped, which is what events of that time have', () => {
  const clock = new HistoryClock(null);
  clock.at(EPOCH_MS, 0);
  clock.at(EPOCH_MS + 10_000, 10_000);
  clock.at(EPOCH_MS + 11_000 - 3_600_000, 11_000);
  clock.at(EPOCH_MS + 20_000 - 3_600_000, 20_000);
  const now = clock.at(EPOCH_MS + 21_000 + YEAR_MS, 21_000);
  expect(now).toBe(EPOCH_MS + 21_000);
  const said = [5000, 10_000, 15_000, 21_000].map((ms) => clock.saidAt(EPOCH_MS + ms) - EPOCH_MS - ms);
  expect(said).toEqual([0, 0, -3_600_000, YEAR_MS]);
  expect(clock.wallOf(EPOCH_MS + 5000)).toBe(EPOCH_MS + 5000 + YEAR_MS);
});

it('tells since when the budget of an alert is counted by the wall clock', () => {
  const clock = new HistoryClock({ history_ms: EPOCH_MS, wall_ms: EPOCH_MS + YEAR_MS });
  clock.at(EPOCH_MS + YEAR_MS, 0);
  const alert = { id: 'alert-1', fired_ms: EPOCH_MS + YEAR_MS } as SloAlert;
  expect(byWallClock({ ...alert, since_ms: EPOCH_MS - 5000 }, clock)).toEqual({
    ...alert,
    since_ms: EPOCH_MS + YEAR_MS - 5000,
  });
  expect(byWallClock(alert, clock)).toEqual(alert);
});
