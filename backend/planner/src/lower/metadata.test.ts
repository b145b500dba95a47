import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { bitsFor, layOutMetadata, METADATA_BITS } from './metadata.js';

const tagger = (count: number) =>
  descriptor(`tag-${count}`, {
    attributes: [
      {
        name: 'tag',
        title: 'Tag',
        values: Array.from({ length: count }, (_, i) => ({ value: `v${i}`, title: `v${i}` })),
      },
    ],
  });

/** A chain of taggers with these numbers of values, all of which decide at the end. */
const tagged = (counts: readonly number[], skip = -1) =>
  chainOf(Object.fromEntries(counts.map((count, i) => [`t${i}`, `tag-${count}`])), [
    ['in', 't0'],
    ...counts.slice(1).map((_, i): [string, string] => [`t${i}`, `t${i + 1}`]),
    [
      `t${counts.length - 1}`,
      'out',
      counts.flatMap((_, i): [string, 'is', string][] => (i === skip ? [] : [[`t${i}.tag`, 'is', 'v0']])),
    ],
  ]);

const counts = fc.array(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: 6 });

describe('layOutMetadata', () => {
  it('gives every attribute bits of its own, with a place for each value and for "not set"', () => {
    fc.assert(
      fc.property(counts, (values) => {
        const { layout, needed } = layOutMetadata(tagged(values), values.map(tagger), new Map());
        if (needed > METADATA_BITS) {
          expect(layout).toBeNull();
          return;
        }
        const used = new Set<number>();
        values.forEach((count, i) => {
          const { offset, width, values: ordinals } = layout!.get(`t${i}.tag`)!;
          for (let bit = offset; bit < offset + width; bit++) {
            expect(used.has(bit)).toBe(false);
            expect(bit).toBeLessThan(METADATA_BITS);
            used.add(bit);
          }
          expect(new Set(Object.values(ordinals)).size).toBe(count);
          for (const ordinal of Object.values(ordinals)) {
            expect(ordinal).toBeGreaterThan(0);
            expect(ordinal).toBeLessThan(2 ** width);
          }
        });
      }),
    );
  });

  it('keeps the places of the running plan where the bits still suffice', () => {
    fc.assert(
      fc.property(counts, fc.nat(5), (values, skip) => {
        fc.pre(values.reduce((sum, count) => sum + bitsFor(count), 0) <= METADATA_BITS);
        const descriptors = values.map(tagger);
        const running = layOutMetadata(tagged(values), descriptors, new Map()).layout!;
        expect(layOutMetadata(tagged(values), descriptors, running).layout).toEqual(running);
        const fewer = layOutMetadata(tagged(values, skip), descriptors, running).layout!;
        for (const [attribute, field] of fewer) expect(running.get(attribute)).toEqual(field);
      }),
    );
  });

  it('gives no bits to attributes that no filter names', () => {
    expect(layOutMetadata(tagged([3], 0), [tagger(3)], new Map()).layout).toEqual(new Map());
  });
});
