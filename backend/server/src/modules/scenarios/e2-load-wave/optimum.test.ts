import { expect, it } from 'vitest';
import { meanGap, optimum, sumOf } from './optimum.js';

it('needs one instance for each full one, and one without load', () => {
  expect([0, 0.99, 1, 1.01, 3.5].map((full) => optimum(full * 1e6, 0.05 / 1e6, 0.05))).toEqual([1, 1, 1, 2, 4]);
});

it('compares two series where both are known', () => {
  const actual: [number, number][] = [
    [2, 2],
    [6, 4],
  ];
  const lowest: [number, number][] = [1, 3, 5, 7].map((s) => [s, 2]);
  expect(meanGap(actual, lowest, 0)).toBeCloseTo((0 + 0 + 1) / 3);
  expect(meanGap(actual, lowest, 6)).toBe(1);
  expect(meanGap(actual, [], 0)).toBeNull();
});

it('adds series by the latest value of each', () => {
  const [a, b]: [number, number][][] = [
    [
      [1, 10],
      [2, 20],
    ],
    [
      [0.5, 1],
      [1.5, 2],
      [1.7, 3],
    ],
  ];
  expect(sumOf([a!, b!])).toEqual([
    [1, 11],
    [2, 23],
  ]);
  expect(sumOf([])).toEqual([]);
});
