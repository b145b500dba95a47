import fc from 'fast-check';
import { expect, it } from 'vitest';
import { imbalance, meanFrom, settledAt, smoothed } from './balance.js';

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
