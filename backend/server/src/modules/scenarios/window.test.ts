import { expect, it } from 'vitest';
import type { Api } from './api-caller.js';
import { Window } from './window.js';

const api = {
  call: async () => ({
    items: [
      {
        key: 'a',
        points: [
          [0, 1],
          [1, 3],
        ],
      },
      { key: 'none', points: [] },
    ],
  }),
} as unknown as Api;

it('has no mean of what was not sampled', async () => {
  const window = await Window.since(api, ['a', 'b', 'none'], 0);
  expect([window.mean('a'), window.mean('b'), window.mean('none')]).toEqual([2, null, null]);
  expect([window.median('a'), window.median('b')]).toEqual([2, null]);
  expect([window.sumOfMeans([]), window.sumOfMeans(['a', 'a']), window.sumOfMeans(['a', 'b'])]).toEqual([0, 4, null]);
});
