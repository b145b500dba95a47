import { type FieldAbility, type FieldMatch, SWITCH_FIELD_BITS, type SwitchField } from '@orrery/contract';
import { type IntervalSet, interval, subtract } from '../../check/interval-set.js';

export const wholeField = (field: SwitchField): IntervalSet => interval(0, 2 ** SWITCH_FIELD_BITS[field] - 1);

/** Values that a field of `exact` matches may be asked for one by one. */
const MOST_EXACT_VALUES = 4096;

/** Disjoint matches that together hold for the values of the set; `null` when such matches cannot. Precondition: not the whole field. */
export function cover(set: IntervalSet, field: SwitchField, { kind, negation }: FieldAbility): FieldMatch[] | null {
  const direct = positive(set, field, kind);
  if (!negation || (direct !== null && direct.length <= 1)) return direct;
  const complement = positive(subtract(wholeField(field), set), field, kind);
  return complement?.length === 1 ? [{ ...complement[0]!, not: true }] : direct;
}

function positive(set: IntervalSet, field: SwitchField, kind: FieldAbility['kind']): FieldMatch[] | null {
  const bits = SWITCH_FIELD_BITS[field];
  switch (kind) {
    case 'range':
      return set.map(([lo, hi]) => ({ lo, hi }));
    case 'prefix':
    case 'mask':
      return set.flatMap(([lo, hi]) => prefixes(lo, hi, bits));
    case 'exact': {
      const count = set.reduce((sum, [lo, hi]) => sum + hi - lo + 1, 0);
      if (count > MOST_EXACT_VALUES) return null;
      const mask = 2 ** bits - 1;
      return set.flatMap(([lo, hi]) => Array.from({ length: hi - lo + 1 }, (_, i) => ({ value: lo + i, mask })));
    }
  }
}

/** The fewest prefixes that make up the range: at most 2 * bits - 2. Plain numbers, because bit operators end at 32 bits. */
function prefixes(lo: number, hi: number, bits: number): { value: number; mask: number }[] {
  const out: { value: number; mask: number }[] = [];
  for (let at = lo; at <= hi; ) {
    let size = 1;
    while (size * 2 <= 2 ** bits && at % (size * 2) === 0 && at + size * 2 - 1 <= hi) size *= 2;
    out.push({ value: at, mask: 2 ** bits - size });
    at += size;
  }
  return out;
}
