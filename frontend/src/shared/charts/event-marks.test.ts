import type { Event } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMarked, markAt, marksBetween, worstFirst } from './event-marks.js';

const event = (t_ms: number, severity: Event['severity'] = 'info', type: Event['type'] = 'operation.completed') =>
  ({ id: `${t_ms}-0`, t_ms, severity, type, message: '' }) as Event;

describe('marks of events on charts', () => {
  it('are warnings, errors, and what changes what is measured', () => {
    expect(isMarked(event(0, 'error', 'loop.decided'))).toBe(true);
    expect(isMarked(event(0, 'info', 'operation.completed'))).toBe(true);
    expect(isMarked(event(0, 'info', 'loop.decided'))).toBe(false);
  });

  it('have every event of the time once, in marks that are apart, each as bad as its worst', () => {
    const times = fc.array(fc.record({ t: fc.integer({ min: 0, max: 100_000 }), bad: fc.boolean() }), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(times, fc.integer({ min: 1, max: 20 }), (given, near) => {
        const events = given.sort((a, b) => a.t - b.t).map(({ t, bad }) => event(t, bad ? 'error' : 'info'));
        const marks = marksBetween(events, 10, 90, near);
        const within = events.filter(({ t_ms }) => t_ms >= 10_000 && t_ms <= 90_000);
        expect(marks.flatMap((mark) => mark.events)).toEqual(within);
        for (const [index, { t_s, severity, events: own }] of marks.entries()) {
          const next = marks[index + 1];
          if (next) expect(next.t_s - t_s).toBeGreaterThanOrEqual(near);
          expect(severity === 'error').toBe(own.some((each) => each.severity === 'error'));
          expect(own.every(({ t_ms }) => t_ms / 1000 - t_s < near)).toBe(true);
        }
      }),
    );
  });

  it('show the worst first, of several the newest', () => {
    const [mark] = marksBetween(
      [event(1000), event(1200, 'error'), event(1400, 'warning'), event(1600, 'error')],
      0,
      9,
      5,
    );
    expect(worstFirst(mark!).map(({ t_ms }) => t_ms)).toEqual([1600, 1200, 1400, 1000]);
  });

  it('are found at the pointer, the nearest first, and not from afar', () => {
    const marks = marksBetween([event(10_000), event(14_000)], 0, 100, 1);
    expect(markAt(marks, 13, 2)?.t_s).toBe(14);
    expect(markAt(marks, 11, 2)?.t_s).toBe(10);
    expect(markAt(marks, 20, 2)).toBeNull();
    expect(markAt([], 0, 100)).toBeNull();
  });
});
