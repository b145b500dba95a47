import { DIRECT_ATTRIBUTES } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { earlierThatMayOverlap } from './class-pairs.js';
import { interval } from './interval-set.js';
import { type Box, intersectBoxes } from './packet-space.js';

const set = fc
  .tuple(fc.nat(8), fc.nat(3), fc.boolean())
  .map(([lo, size, more]) => [...interval(lo, lo + size), ...(more ? interval(20, 21) : [])]);
const box = fc
  .dictionary(fc.constantFrom(...DIRECT_ATTRIBUTES), set, { maxKeys: 3 })
  .map((sets): Box => new Map(Object.entries(sets)));

it('names every earlier box with packets in common', () => {
  fc.assert(
    fc.property(fc.array(fc.option(box), { maxLength: 12 }), (boxes) => {
      const earlier = earlierThatMayOverlap(boxes);
      boxes.forEach((own, i) => {
        const common = boxes.slice(0, i).flatMap((other, j) => (own && other && intersectBoxes(own, other) ? [j] : []));
        const named = earlier(i);
        expect(named).toEqual(expect.arrayContaining(common));
        expect([...named].sort((a, b) => a - b)).toEqual(named);
        expect(named.every((j) => j < i)).toBe(true);
      });
    }),
  );
});

it('names few of many that differ in one attribute', () => {
  const boxes = Array.from({ length: 2000 }, (_, i): Box => new Map([['port.dst', interval(i, i)]]));
  const earlier = earlierThatMayOverlap(boxes);
  expect(boxes.flatMap((_, i) => earlier(i))).toEqual([]);
});
