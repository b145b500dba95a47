import { expect, it } from 'vitest';
import { worstFirst } from './worst-first.js';

it('lists failed chains before degraded ones and leaves the others in their order', () => {
  const states = ['running', 'none', 'degraded', 'deploying', 'failed', 'running'] as const;
  const rows = states.map((state, index) => ({ state, index }));
  expect(worstFirst(rows, ({ state }) => state).map(({ index }) => index)).toEqual([4, 2, 0, 1, 3, 5]);
});
