import { expect, it } from 'vitest';
import { framesApart } from './replay.js';

const apart = (one: string[], other: string[]) => framesApart({ arrived: one }, { arrived: other });

it('finds nothing apart whatever the order in which frames arrive', () => {
  expect(apart(['a', 'b'], ['b', 'a'])).toBe(0);
});

it('counts frames that are missing, come twice, or are others', () => {
  expect(apart(['a', 'b'], ['a'])).toBe(1);
  expect(apart(['a', 'b'], ['a', 'b', 'b'])).toBe(1);
  expect(apart(['a', 'b'], ['a', 'c'])).toBe(2);
});
