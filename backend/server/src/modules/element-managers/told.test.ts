import type { ObservedElement } from '@orrery/contract';
import { expect, it } from 'vitest';
import { softwareSince, type Told } from './told.js';

const element = (accelerated: boolean, switched_ms: number | null): ObservedElement => ({
  ...{ accelerated, switched_ms, kinds: [], cpu_limit: null },
});

/** What is told at 10, 20, ..., and since when each leaves it in software. */
function since(...told: readonly ObservedElement[]): (number | null)[] {
  let before: Told | undefined;
  return told.map((each, i) => {
    const softwareMs = softwareSince(before, each, 10 * (i + 1));
    before = { element: each, softwareMs };
    return softwareMs;
  });
}

it('an instance is in software since it was switched', () => {
  expect(since(element(true, 5), element(false, 15), element(false, 15))).toEqual([null, 15, 15]);
});

it('or since it was first told of, where its agent does not know when it was switched', () => {
  const [plain, fast] = [element(false, null), element(true, null)];
  expect(since(plain, plain, plain)).toEqual([10, 10, 10]);
  // Its agent started anew, or its configuration is another one.
  expect(since(element(true, 5), plain, plain)).toEqual([null, 20, 20]);
  expect(since(fast, plain, fast, plain)).toEqual([null, 20, null, 40]);
  expect(since(element(false, 5), plain)).toEqual([5, 20]);
});
