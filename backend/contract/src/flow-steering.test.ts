import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fieldErrors } from './field-errors.js';
import { FLOW_SPACE } from './filter.js';
import { flawOfRanges, SplitRequest } from './flow-steering.js';

/** Ranges in any order, cut at these borders. */
const cut = (borders: number[]) =>
  [0, ...borders].map((lo, i) => ({ lo, hi: borders[i] ?? FLOW_SPACE })).sort((a, b) => (a.lo % 7) - (b.lo % 7));

it('ranges partition the flow space if and only if each identity is in exactly one', () => {
  const range = fc.record({ lo: fc.integer({ min: 0, max: 9 }), hi: fc.integer({ min: 0, max: 9 }) });
  const scaled = (n: number) => (n === 9 ? FLOW_SPACE : n * 7000);
  const whole = fc
    .uniqueArray(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 4 })
    .map((borders) => cut(borders.sort((a, b) => a - b).map(scaled)));
  const any = fc
    .array(range, { minLength: 1, maxLength: 4 })
    .map((all) => all.map(({ lo, hi }) => ({ lo: scaled(lo), hi: scaled(hi) })));
  let partitions = 0;
  fc.assert(
    fc.property(fc.oneof(whole, any), (ranges) => {
      const once = [...Array(9).keys()].every(
        (n) => ranges.filter(({ lo, hi }) => lo <= scaled(n) && scaled(n) < hi).length === 1,
      );
      const partition = once && ranges.every(({ lo, hi }) => lo < hi);
      if (partition) partitions++;
      expect(flawOfRanges(ranges) === null).toBe(partition);
    }),
    { numRuns: 500 },
  );
  expect(partitions).toBeGreaterThan(50);
});

it('a request with a gap or an overlap names the range', () => {
  const pointer = (ranges: [number, number][]) => {
    const { error } = SplitRequest.safeParse({ ranges: ranges.map(([lo, hi]) => ({ lo, hi })) });
    return error ? fieldErrors(error).map((each) => each.pointer) : null;
  };
  expect(
    pointer([
      [0, 9],
      [9, FLOW_SPACE],
    ]),
  ).toBeNull();
  expect(
    pointer([
      [9, FLOW_SPACE],
      [0, 9],
    ]),
  ).toBeNull();
  expect(
    pointer([
      [0, 9],
      [10, FLOW_SPACE],
    ]),
  ).toEqual(['/ranges/1']);
  expect(
    pointer([
      [9, FLOW_SPACE],
      [0, 10],
    ]),
  ).toEqual(['/ranges/0']);
  expect(
    pointer([
      [0, 9],
      [9, 100],
    ]),
  ).toEqual(['/ranges/1']);
  expect(
    pointer([
      [0, 9],
      [9, 9],
    ]),
  ).toContain('/ranges/1');
});
