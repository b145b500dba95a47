import fc from 'fast-check';
import { expect, it } from 'vitest';
import { balancedAt, highest, imbalance, meanFrom, smoothed, together, withoutEntry } from './balance.js';

const perSecond = (...values: number[]) => values.map((value, s): [number, number] => [s, value]);

it('tells how far two loads are from equal shares over a time, also where one is not there yet', () => {
  const old = perSecond(100, 100, 60, 60);
  const added = perSecond(0, 0, 40, 60).slice(1);
  expect([0, 1, 2, 3].map((s) => imbalance(old, added, s, s + 1))).toEqual([1, 1, 0.2, 0]);
  expect(imbalance(old, added, 2)).toBeCloseTo(20 / 220);
  expect(imbalance(perSecond(0), [], 0)).toBeNull();
  expect(imbalance(old, added, 9)).toBeNull();
});

it('knows when two loads are balanced, in spite of single seconds that are not', () => {
  const at = (a: [number, number][], b: [number, number][], limit = 0.1) =>
    balancedAt(a, b, { afterS: 2, windowS: 2, limit });
  const whole = 200;
  const old = [200, 200, 180, 150, 110, 95, 130, 80, 100, 100];
  const added = old.map((value) => whole - value);
  // Means of the two seconds before: 200, 190, 165, 130, 102.5.
  expect(at(perSecond(...old), perSecond(...added))).toBe(6);
  expect(at(perSecond(...old), perSecond(...added), 0.31)).toBe(5);
  // Each second is far from it, and all of them together are not.
  const swinging = [140, 60, 140, 60, 140, 60];
  expect(at(perSecond(...swinging), perSecond(...swinging.map((value) => whole - value)))).toBe(2);
  // Once, by chance.
  const bad = [200, 100, 100, 180, 180, 180];
  expect(at(perSecond(...bad), perSecond(...bad.map((value) => whole - value)))).toBeNull();
  expect(at(perSecond(200, 200, 200), [])).toBeNull();
  expect(at([], [])).toBeNull();
});

it('adds series that are measured at different times, and tells flows for which a table had no room', () => {
  const used = together([
    [
      [1, 100],
      [3, 80],
    ],
    [[2, 50]],
  ]);
  expect(used).toEqual([
    [1, 100],
    [2, 150],
    [3, 130],
  ]);
  expect(highest(used)).toBe(150);
  expect(highest([])).toBeNull();
  expect(withoutEntry(1000, used, 2.5)).toBe(850);
  expect(withoutEntry(120, used, 3)).toBe(0);
  // Nothing was measured by then: no entry is known to be in use, nor that none is.
  expect(withoutEntry(1000, used, 0.5)).toBeNull();
  expect(withoutEntry(1000, together([[], []]), 9)).toBeNull();
});

it('tells the mean of a time', () => {
  const points: [number, number][] = [0.9, 0.2, 0.05, 0.3, 0.08, 0.02].map((value, s) => [s, value]);
  expect(meanFrom(points, 4)).toBeCloseTo(0.05);
  expect(meanFrom(points, 6)).toBeNull();
});

it('smooths by the mean of the window, as adding it up anew would', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 40 }),
      fc.integer({ min: 1, max: 9 }),
      (of, window) => {
        const points = of.map((value, s): [number, number] => [s, value]);
        const means = points.map(
          ([s]) =>
            meanFrom(
              points.filter(([at]) => at <= s),
              s - window + 0.5,
            )!,
        );
        smoothed(points, window).forEach(([, value], index) => void expect(value).toBeCloseTo(means[index]!));
      },
    ),
  );
});
