import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { P4_MATCH_KINDS, type P4MatchKind } from './p4-program.js';
import {
  allOnes,
  type P4Match,
  p4Match,
  p4MatchText,
  p4Value,
  p4ValueText,
  prefixLength,
  prefixMask,
} from './p4-values.js';

const NAMES = ['dst_addr', 'ether_type', 'x'] as const;
/** A width, and a value that fits. */
const sized = fc
  .oneof(fc.constantFrom(1, 9, 16, 32, 48, 64, 128), fc.integer({ min: 1, max: 200 }))
  .chain((bits) => fc.tuple(fc.constant(bits), fc.bigInt({ min: 0n, max: allOnes(bits) })));

describe('a value', () => {
  it('is the same after it was written as text, whatever its width', () => {
    fc.assert(
      fc.property(sized, fc.constantFrom(...NAMES), ([bits, value], name) => {
        expect(p4Value(p4ValueText(value, bits, name), bits)).toBe(value);
        for (const text of [value.toString(), `0x${value.toString(16)}`, `0b${value.toString(2)}`])
          expect(p4Value(text, bits)).toBe(value);
      }),
    );
  });

  it('is refused if it has more bits than the field', () => {
    fc.assert(
      fc.property(sized, fc.bigInt({ min: 1n, max: 1n << 70n }), ([bits], more) => {
        expect(() => p4Value((allOnes(bits) + more).toString(), bits)).toThrow(/has more than \d+ bits?/);
      }),
    );
  });

  it.each([
    ['10.0.0.1', 32, 0x0a000001n],
    ['02:00:0a:00:01:01', 48, 0x02000a000101n],
    ['fe80::1', 128, (0xfe80n << 112n) | 1n],
    ['::', 128, 0n],
    ['1:2:3:4:5:6:7:8', 128, 0x00010002000300040005000600070008n],
    [' 0x0800 ', 16, 0x800n],
  ])('%s of %i bits', (text, bits, value) => {
    expect(p4Value(text, bits)).toBe(value);
  });

  it.each([
    ['10.0.0.256', 32, '10.0.0.256 is not an IPv4 address'],
    ['10.0.0.1', 16, '"10.0.0.1" is not a number of 16 bits'],
    ['02:00:00:00:00', 48, '"02:00:00:00:00" is not a number or a MAC address of 48 bits'],
    ['fe80:::1', 128, 'fe80:::1 is not an IPv6 address'],
    ['1:2:3:4:5:6:7:8:9', 128, '1:2:3:4:5:6:7:8:9 is not an IPv6 address'],
    ['1::2::3', 128, '1::2::3 is not an IPv6 address'],
    ['1:2:3:4:5:6:7::8', 128, '1:2:3:4:5:6:7::8 is not an IPv6 address'],
    ['-1', 8, '"-1" is not a number of 8 bits'],
    ['', 1, '"" is not a number of 1 bit'],
    ['2', 1, '2 has more than 1 bit'],
    ['port', 9, '"port" is not a number of 9 bits'],
  ])('%s of %i bits: %s', (text, bits, error) => {
    expect(() => p4Value(text, bits)).toThrow(error);
  });
});

describe('a match', () => {
  interface Matched {
    readonly kind: P4MatchKind;
    readonly bits: number;
    readonly match: P4Match | null;
  }
  const anyMatch = fc
    .tuple(sized, fc.constantFrom(...P4_MATCH_KINDS))
    .chain(([[bits, value], kind]): fc.Arbitrary<Matched> => {
      const whole = allOnes(bits);
      if (kind === 'range')
        return fc
          .bigInt({ min: value, max: whole })
          .map((hi) => ({ kind, bits, match: value === 0n && hi === whole ? null : { lo: value, hi } }));
      const masks =
        kind === 'lpm'
          ? fc.integer({ min: 0, max: bits }).map((length) => prefixMask(length, bits))
          : kind === 'ternary'
            ? fc.bigInt({ min: 0n, max: whole })
            : fc.constant(whole);
      return masks.map((mask) => ({ kind, bits, match: mask === 0n ? null : { value: value & mask, mask } }));
    });

  it('is the same after it was written as text', () => {
    fc.assert(
      fc.property(anyMatch, fc.constantFrom(...NAMES), ({ kind, bits, match }, name) => {
        expect(p4Match(p4MatchText(match, kind, bits, name), kind, bits)).toEqual(match);
      }),
    );
  });

  it('takes the values that its prefix says', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 128 }), fc.nat(), (bits, n) => {
        const length = n % (bits + 1);
        const mask = prefixMask(length, bits);
        expect(prefixLength(mask, bits)).toBe(length);
        expect(mask >> BigInt(bits - length)).toBe(allOnes(length));
      }),
    );
  });

  it.each([
    ['10.0.0.0/8', 'lpm', 32, { value: 0x0a000000n, mask: 0xff000000n }],
    ['10.0.0.1', 'lpm', 32, { value: 0x0a000001n, mask: 0xffffffffn }],
    ['0.0.0.0/0', 'lpm', 32, null],
    ['0x06&&&0x0f', 'ternary', 8, { value: 6n, mask: 15n }],
    ['80..90', 'range', 16, { lo: 80n, hi: 90n }],
    ['80', 'range', 16, { lo: 80n, hi: 80n }],
    ['0..65535', 'range', 16, null],
    ['6', 'optional', 8, { value: 6n, mask: 255n }],
    ['*', 'ternary', 8, null],
  ] as const)('%s as %s of %i bits', (text, kind, bits, match) => {
    expect(p4Match(text, kind, bits)).toEqual(match);
  });

  it.each([
    ['10.0.0.1/8', 'lpm', 32, '10.0.0.1/8 has bits that its mask leaves out'],
    ['10.0.0.0/33', 'lpm', 32, '33 is not a prefix length of at most 32'],
    ['10.0.0.0/', 'lpm', 32, 'nothing is not a prefix length of at most 32'],
    ['0xff&&&0x0f', 'ternary', 8, '0xff&&&0x0f has bits that its mask leaves out'],
    ['90..80', 'range', 16, '90 is above 80'],
    ['1..2..3', 'range', 16, '1..2..3 is not low..high'],
    ['6/8', 'exact', 8, '6/8: a key with exact matches takes no /'],
    ['1..2', 'optional', 8, '1..2: a key with optional matches takes no ..'],
    ['*', 'exact', 8, 'has exact matches, so it needs a value'],
  ] as const)('%s as %s of %i bits is refused: %s', (text, kind, bits, error) => {
    expect(() => p4Match(text, kind, bits)).toThrow(error);
  });
});
