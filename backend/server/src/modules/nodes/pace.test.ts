import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Pace } from './pace.js';

it('never lets more pass than burst and rate allow', () => {
  const step = fc.record({ afterMs: fc.integer({ min: 0, max: 5000 }), amount: fc.integer({ min: 1, max: 50 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let now = 0;
      let passed = 0;
      const pace = new Pace(10, 100, () => now);
      for (const { afterMs, amount } of steps) {
        now += afterMs;
        if (pace.tryTake(amount)) passed += amount;
        expect(passed).toBeLessThanOrEqual(100 + now / 100 + 1e-6);
      }
    }),
  );
});

it('says how long a debt takes', () => {
  let now = 0;
  const pace = new Pace(10, 100, () => now);
  expect(pace.take(100)).toBe(0);
  expect(pace.take(5)).toBe(500);
  now = 500;
  expect(pace.take(0)).toBe(0);
});
