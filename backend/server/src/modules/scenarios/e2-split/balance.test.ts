import fc from 'fast-check';
import { expect, it } from 'vitest';
import { highest, imbalance, meanFrom, settledAt, smoothed, together, withoutEntry } from './balance.js';

it('tells how far two loads are from equal shares, also where one is not there yet', () => {
  const old: [number, number][] = [
    [0, 100],
    [2, 60],
  ];
  const added: [number, number][] = [
    [1, 0],
    [3, 40],
    [4, 60],
  ];
  expect(imbalance(old, added)).toEqual([
    [0, 1],
    [1, 1],
    [2, 1],
    [3, 0.2],
    [4, 0],
  ]);
  expect(imbalance([[0, 0]], [])).toEqual([]);
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

it('knows since when it has been settled', () => {
  const points: [number, number][] = [0.9, 0.2, 0.05, 0.3, 0.08, 0.02].map((value, s) => [s, value]);
  expect(settledAt(points, 0, 0.1)).toBe(4);
  expect(settledAt(points, 5, 0.1)).toBe(5);
  expect(settledAt(points.slice(0, 4), 0, 0.1)).toBeNull();
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
