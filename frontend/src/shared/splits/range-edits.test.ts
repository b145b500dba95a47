import { FLOW_SPACE, flawOfRanges } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutOf, evenly, rangesOf, withBorder } from './range-edits.js';

const cuts = fc
  .uniqueArray(fc.integer({ min: 1, max: FLOW_SPACE - 1 }), { minLength: 1, maxLength: 6 })
  .chain((borders) =>
    fc.record({
      borders: fc.constant(borders.toSorted((a, b) => a - b)),
      order: fc.shuffledSubarray([...Array(borders.length + 1).keys()], {
        minLength: borders.length + 1,
        maxLength: borders.length + 1,
      }),
    }),
  );

it('ranges partition the flow space, whatever border is moved wherever', () => {
  fc.assert(
    fc.property(cuts, fc.nat(5), fc.integer({ min: -FLOW_SPACE, max: 2 * FLOW_SPACE }), (cut, which, to) => {
      const index = which % cut.borders.length;
      expect(cutOf(rangesOf(cut))).toEqual(cut);
      for (const edited of [withBorder(cut, index, to), evenly(cut)]) {
        expect(flawOfRanges(rangesOf(edited))).toBeNull();
        expect(edited.order).toEqual(cut.order);
      }
      const room = withBorder(cut, index, cut.borders[index]!);
      expect(room).toEqual(cut);
    }),
  );
});

it('an even split gives each instance its part, in the order of their ranges', () => {
  const cut = cutOf([
    { lo: 60_000, hi: FLOW_SPACE },
    { lo: 0, hi: 60_000 },
  ]);
  expect(rangesOf(evenly(cut))).toEqual([
    { lo: 32_768, hi: FLOW_SPACE },
    { lo: 0, hi: 32_768 },
  ]);
});
