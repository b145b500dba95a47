import { expect, it } from 'vitest';
import { median } from './median.js';

it('is the middle of the sorted values, or the mean of the two in the middle', () => {
  expect(median([30, 4, 7])).toBe(7);
  expect(median([100, 4, 20, 7])).toBe(13.5);
  expect(median([5])).toBe(5);
});
