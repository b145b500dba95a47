import { expect, it } from 'vitest';
import { lengthOf, pointsOf } from './wave.js';

it('a wave rises and falls between two loads', () => {
  const wave = { low: 1, high: 3, low_s: 10, rise_s: 5, high_s: 20, fall_s: 4 };
  expect(pointsOf(wave).map(({ at_s, rate_bps }) => [at_s, rate_bps])).toEqual([
    [0, 1],
    [10, 1],
    [15, 3],
    [35, 3],
    [39, 1],
  ]);
  expect(pointsOf(wave, 7).map(({ at_s }) => at_s)).toEqual([7, 17, 22, 42, 46]);
  expect(lengthOf(wave)).toBe(49);
});
