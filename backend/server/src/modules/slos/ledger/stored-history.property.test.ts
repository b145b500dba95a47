import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SecondsHistory, type Verdict } from '../budget/seconds-history.js';
import { encodeField, fieldOf, hasPassed, restore } from './stored-history.js';

const START_S = 1_700_000_000;
const worse = (a: number, b: number) => a > b;

it('reads again what it wrote, without the coarse bucket that had not ended, and nothing else', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          verdict: fc.constantFrom<Verdict>('good', 'bad', 'unknown'),
          length: fc.integer({ min: 1, max: 400 }),
          measured: fc.option(fc.integer({ min: 1, max: 1000 }), { nil: null }),
        }),
        { minLength: 1, maxLength: 12 },
      ),
      (runs) => {
        const history = new SecondsHistory(86_400, worse);
        let at = START_S;
        for (const { verdict, length, measured } of runs)
          for (let n = 0; n < length; n++) history.record(verdict, 1, measured, 1000 * ++at);
        const stored: Record<string, string> = {};
        const ended = Math.floor(at / 300);
        for (const { slot } of history.fine.buckets())
          stored[fieldOf('f', slot)] ??= encodeField(history, fieldOf('f', slot));
        for (const { slot } of history.coarse.buckets())
          if (slot < ended - 3) stored[fieldOf('c', slot)] ??= encodeField(history, fieldOf('c', slot));
        const again = new SecondsHistory(86_400, worse);
        expect(restore(again, { ...stored, x1: '[]', f1: '{}', c2: '[[1,2]]' }).sort()).toEqual(['c2', 'f1', 'x1']);
        for (const windowS of [60, 3600, 21_600])
          expect(again.over(windowS, 1000 * at)).toEqual(history.over(windowS, 1000 * at));
        expect([...again.coarse.buckets()]).toEqual(
          [...history.coarse.buckets()].map((bucket) => ({
            ...bucket,
            mean: bucket.mean === null ? null : expect.closeTo(bucket.mean, 2),
            good_s: expect.closeTo(bucket.good_s, 6),
            bad_s: expect.closeTo(bucket.bad_s, 6),
          })),
        );
      },
    ),
    { numRuns: 40 },
  );
});

it('takes rows of a later version, and lets pass what is older than the period', () => {
  const history = new SecondsHistory(3600, worse);
  const slot = START_S / 10;
  expect(restore(history, { [fieldOf('f', slot)]: JSON.stringify([[slot, 4, 6, 10, 2, 3, 'more']]) })).toEqual([]);
  expect(history.over(60, 1000 * START_S + 9000)).toEqual({ good_s: 4, bad_s: 6 });
  expect(history.coarse.bucket(Math.floor(START_S / 300))).toMatchObject({ good_s: 4, bad_s: 6, mean: 2, worst: 3 });
  expect(hasPassed(history, fieldOf('f', slot), 1000 * (START_S + 3600))).toBe(false);
  expect(hasPassed(history, fieldOf('f', slot), 1000 * (START_S + 7 * 3600))).toBe(true);
  expect(hasPassed(history, fieldOf('c', START_S / 300), 1000 * (START_S + 3 * 86_400))).toBe(true);
});
