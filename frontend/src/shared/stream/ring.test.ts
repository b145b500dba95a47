import { expect, it } from 'vitest';
import { GAP_MS, Ring } from './ring.js';

it('parts its points where there is a gap between them, also when it has forgotten the oldest', () => {
  const ring = new Ring(4);
  for (const t of [0, 500, 1000, 1000 + GAP_MS, 1001 + 2 * GAP_MS]) ring.push(t, 1);
  expect(ring.runs()).toEqual([
    [0, 2],
    [3, 3],
  ]);
  expect(ring.runs(2)).toEqual([
    [2, 2],
    [3, 3],
  ]);
  expect(new Ring(2).runs()).toEqual([]);
});
