import { expect, it } from 'vitest';
import { leastDelivered, meanOfAll } from './measured.js';

it('has no mean where one of the values was not measured', () => {
  expect(meanOfAll([1, 3])).toBe(2);
  expect(meanOfAll([1, null])).toBeNull();
  expect(meanOfAll([])).toBeNull();
});

it('does not call packets delivered that nobody counted', () => {
  expect(leastDelivered([90, 50], 100)).toBe(50);
  expect(leastDelivered([90, 0], 100)).toBe(0);
  expect(leastDelivered([90, null], 100)).toBeNull();
  expect(leastDelivered([], 100)).toBeNull();
});
