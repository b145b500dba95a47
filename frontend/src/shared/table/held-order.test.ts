import fc from 'fast-check';
import { expect, test } from 'vitest';
import { heldOrder } from './held-order.js';

const keys = fc.uniqueArray(fc.string({ maxLength: 4 }));

test('no row is lost or doubled, rows that stay keep their order, and new rows follow them', () => {
  fc.assert(
    fc.property(keys, keys, (fresh, kept) => {
      const order = heldOrder(fresh, kept);
      expect([...order].sort()).toEqual([...fresh].sort());
      const stayed = kept.filter((key) => fresh.includes(key));
      expect(order.slice(0, stayed.length)).toEqual(stayed);
    }),
  );
});
