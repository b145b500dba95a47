import fc from 'fast-check';
import { expect, it } from 'vitest';
import { seededRandom } from '../random.js';
import { type Bounds, BoxTree } from './box-tree.js';

const SIDE = 16;
const EXTENT = [SIDE, SIDE, SIDE];

const bounds: fc.Arbitrary<Bounds> = fc
  .array(fc.tuple(fc.nat(SIDE - 1), fc.nat(4)), { minLength: 3, maxLength: 3 })
  .map((sides) => ({ lo: sides.map(([lo]) => lo), hi: sides.map(([lo, more]) => lo + more) }));

const meet = (a: Bounds, b: Bounds) => a.lo.every((lo, d) => lo <= b.hi[d]! && b.lo[d]! <= a.hi[d]!);

it('finds a box that meets another exactly where a look at all of them does, after any changes', () => {
  const change = fc.record({ bounds, removes: fc.option(fc.nat(60), { freq: 2 }) });
  const seen = { found: 0, none: 0 };
  fc.assert(
    fc.property(fc.array(change, { maxLength: 80 }), fc.array(bounds, { maxLength: 10 }), (changes, asked) => {
      const tree = new BoxTree<number>(EXTENT);
      const all = new Map<number, Bounds>();
      changes.forEach((it, i) => {
        tree.add(it.bounds, i);
        all.set(i, it.bounds);
        if (it.removes === null) return;
        tree.remove(it.removes);
        all.delete(it.removes);
      });
      expect(tree.size).toBe(all.size);
      for (const box of asked) {
        const wanted = [...all].filter(([, each]) => meet(each, box)).map(([i]) => i);
        const got: number[] = [];
        tree.find(box, (value) => {
          got.push(value);
          return false;
        });
        expect(got.sort((a, b) => a - b)).toEqual(wanted);
        expect(tree.find(box, () => true) !== undefined).toBe(wanted.length > 0);
        seen[wanted.length > 0 ? 'found' : 'none']++;
      }
    }),
    { numRuns: 300, seed: 53 },
  );
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(100);
});

it('looks at few of thousands that lie apart, by whatever side', () => {
  const random = seededRandom(1);
  const tree = new BoxTree<number>([5000, 5000]);
  // Bands of one side, and of the other side beyond them.
  for (let i = 0; i < 2000; i++) tree.add({ lo: [2 * i, 0], hi: [2 * i, 999] }, i);
  for (let i = 0; i < 2000; i++) tree.add({ lo: [0, 1000 + 2 * i], hi: [4999, 1000 + 2 * i] }, 2000 + i);
  let looks = 0;
  for (let n = 0; n < 200; n++) {
    const at = 2 * Math.floor(random() * 1990) + 1;
    const count = () => {
      looks++;
      return false;
    };
    tree.find({ lo: [at, 0], hi: [at, 999] }, count);
    tree.find({ lo: [0, 1000 + at], hi: [4999, 1000 + at] }, count);
  }
  expect(looks).toBe(0);
});
