import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Lateness } from './lateness.js';
import { Searches } from './searches.js';

it('a request is late once it has missed its bound for so long without a break, and no more once it has kept it for longer', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 60 }), (misses) => {
      const lateness = new Lateness(5, 10);
      let isLate = false;
      const told = misses.map((now, second) => {
        const { late, kept } = lateness.judge([{ id: 'sr-1', isLate, misses: now }], second);
        if (late.length > 0) isLate = true;
        if (kept.length > 0) isLate = false;
        return isLate;
      });
      let expected = false;
      misses.forEach((_, second) => {
        const last = (count: number) => (second + 1 < count ? [] : misses.slice(second + 1 - count, second + 1));
        if (last(6).length === 6 && last(6).every((it) => it)) expected = true;
        if (last(11).length === 11 && last(11).every((it) => !it)) expected = false;
        expect(told[second]).toBe(expected);
      });
    }),
  );
});

it('what is not judged for a while begins anew', () => {
  const lateness = new Lateness(5, 10);
  const missed = [{ id: 'sr-1', isLate: false, misses: true }];
  lateness.judge(missed, 0);
  lateness.judge([], 3);
  expect(lateness.judge(missed, 6).late).toEqual([]);
  lateness.forget();
  expect(lateness.judge(missed, 12).late).toEqual([]);
  expect(lateness.judge(missed, 17).late).toEqual(['sr-1']);
});

it('other ways are sought for a few late requests at a time, and for each of them less and less often', () => {
  const searches = new Searches(1000);
  const late = Array.from({ length: 12 }, (_, i) => `sr-${i}`);
  expect(searches.inMs([], 0)).toBeNull();
  expect(searches.inMs(late, 0)).toBe(0);
  expect(searches.begin(late, 0)).toEqual(late.slice(0, 8));
  expect(searches.begin(late, 9999)).toEqual([]);
  expect(searches.inMs(late, 4000)).toBe(6000);
  // One that is late for less long comes last, wherever it stands.
  expect(searches.begin(['sr-new', ...late], 10_000)).toEqual([...late.slice(8), 'sr-new']);
  const one = new Searches(1000);
  const begun: number[] = [];
  for (let s = 0; s < 4000; s++) if (one.begin(['sr-1'], s * 1000).length > 0) begun.push(s);
  expect(begun).toEqual([0, 30, 90, 210, 450, 930, 1530, 2130, 2730, 3330, 3930]);
  // Ten minutes after it might have had another one, it is as if it had never been late.
  expect(one.begin(['sr-1'], 5_200_000)).toEqual(['sr-1']);
  expect(one.inMs(['sr-1'], 5_200_000)).toBe(30_000);
});
