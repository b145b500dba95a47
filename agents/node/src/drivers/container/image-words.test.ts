import { expect, it } from 'vitest';
import { imageError, isUnrunnable } from './image-words.js';

const LINUX = 'exec /usr/local/bin/run: exec format error';

it('does not take a script without an interpreter for a program of another processor', () => {
  const told = `a/b:1 ended at once: the container ended: exit code 255: ${LINUX}`;
  expect(isUnrunnable(told)).toBe(true);
  const error = imageError(new Error(told), { reference: 'a/b:1' }, 'c.n.0');
  expect(error.message).toMatch(
    /^\/image\/reference: a\/b:1 runs what this server cannot: a program for another processor, or a script without `#!`/,
  );
  expect(error.permanent).toBe(true);
});

it('does not take a last line about such an error for the error', () => {
  for (const said of [`${LINUX}; trying the other one`, 'cannot exec format error'])
    expect(isUnrunnable(`a/b:1 ended at once: the container ended: exit code 1: ${said}`)).toBe(false);
});
