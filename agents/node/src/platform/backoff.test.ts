import { expect, it } from 'vitest';
import { backoffMs } from './backoff.js';

it('doubles up to a cap and spreads over the upper half', () => {
  const limits = { first_ms: 100, most_ms: 1000 };
  expect([1, 2, 3, 4, 5, 500].map((attempt) => backoffMs(limits, attempt, 1))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ]);
  expect(backoffMs(limits, 3, 0)).toBe(200);
});
