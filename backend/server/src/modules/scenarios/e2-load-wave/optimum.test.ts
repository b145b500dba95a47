import { expect, it } from 'vitest';
import { costOf, meanGap, optimum, sumOf } from './optimum.js';

it('needs one instance for each full one, and one without load', () => {
  expect([0, 0.99, 1, 1.01, 3.5].map((full) => optimum(full * 1e6, 0.05 / 1e6, 0.05))).toEqual([1, 1, 1, 2, 4]);
});

it('knows what a bit costs by what an instance used that did not wait for its CPU', () => {
  expect(costOf('vpn', 0.045, 1e6, 0.05)).toBeCloseTo(0.045e-6, 12);
  expect(() => costOf('vpn', 0.046, 1e6, 0.05)).toThrow('may use 0.05: what it costs alone is not known');
  for (const [cpu, bps] of [
    [null, 1e6],
    [0.04, 0],
  ] as const)
    expect(() => costOf('vpn', cpu, bps, 0.05)).toThrow('nothing was measured of vpn');
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
