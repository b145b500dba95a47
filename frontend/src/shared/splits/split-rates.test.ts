import { expect, it } from 'vitest';
import { splitRates } from './split-rates.js';

it('averages rates and shares of all instances over the same seconds', () => {
  const a = [
    [1000, 900],
    [6000, 100],
    [8000, 300],
  ] as const;
  const b = [
    [6000, 500],
    [8000, 700],
  ] as const;
  expect(splitRates([a, b])).toEqual([
    { pps: 200, share: 0.25 },
    { pps: 600, share: 0.75 },
  ]);
});

it('counts the seconds before an instance ran, which others were sent packets in', () => {
  const old = [1000, 2000, 3000, 4000, 5000].map((t_ms) => [t_ms, 100] as const);
  expect(splitRates([old, [[5000, 100]]])).toEqual([
    { pps: 100, share: 100 / 120 },
    { pps: 20, share: 20 / 120 },
  ]);
});

it('has no figure of an instance that nothing is known of, and no share of no packets', () => {
  expect(splitRates([[[1000, 0]], []])).toEqual([{ pps: 0, share: null }, null]);
  const old = [[1000, 5]] as const;
  expect(splitRates([old, [[9000, 2]]])).toEqual([null, { pps: 2, share: 1 }]);
});
