import { expect, it } from 'vitest';
import { acceptanceBars } from './acceptance-chart.js';

const results = (accepted: readonly boolean[]) =>
  accepted.map((it) => ({ id: null, latency_us: it ? 1 : null, why: it ? null : 'no room' }));

it('shows each of a few requests, and shares of many', () => {
  expect(acceptanceBars(results([true, false, true])).map(({ accepted }) => accepted)).toEqual([1, 0, 1]);
  const many = acceptanceBars(results(Array.from({ length: 1000 }, (_, i) => i < 505)));
  expect(many).toHaveLength(100);
  expect(many.map(({ accepted }) => accepted)).toEqual([...Array(50).fill(1), 0.5, ...Array(49).fill(0)]);
  expect(many.at(-1)!.to).toBe(1000);
});
