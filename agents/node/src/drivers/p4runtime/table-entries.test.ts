import { describe, expect, it } from 'vitest';
import { canonicalBytes, numberText } from './bytes.js';
import { P4Info } from './p4-info.js';
import { asWritten, contentOf, identityOf, type NamedEntry, tableEntry } from './table-entries.js';

const field = (id: number, name: string, bitwidth: number, matchType: string) => ({ id, name, bitwidth, matchType });
const INFO = new P4Info({
  tables: [
    {
      preamble: { id: 1, name: 'Ingress.t' },
      matchFields: [field(1, 'e', 16, 'EXACT'), field(2, 't', 32, 'TERNARY'), field(3, 'r', 16, 'RANGE')],
      size: '10',
    },
  ],
  actions: [{ preamble: { id: 5, name: 'a' }, params: [{ id: 1, name: 'p', bitwidth: 9 }] }],
});
const entry = (key: NamedEntry['key'], params: NamedEntry['params'] = { p: 3n }): NamedEntry => ({
  table: 't',
  priority: 7,
  key,
  action: 'a',
  params,
});
const hex = (text: string) => Buffer.from(text, 'hex');

describe('a table entry', () => {
  it('has canonical bytes, bounds of whole width, and leaves out what matches everything', () => {
    const key = { e: { value: 0x100n, mask: 0xffffn }, t: { value: 0x0a0b0c0dn, mask: 0xff000000n } };
    expect(tableEntry(entry({ ...key, r: { lo: 0n, hi: 0xffffn } }), INFO)).toEqual({
      tableId: 1,
      priority: 7,
      match: [
        { fieldId: 1, exact: { value: hex('0100') } },
        { fieldId: 2, ternary: { value: hex('0a000000'), mask: hex('ff000000') } },
      ],
      action: { action: { actionId: 5, params: [{ paramId: 1, value: hex('03') }] } },
    });
    const one = tableEntry(entry({ r: { value: 80n, mask: 0xffffn }, t: { value: 0n, mask: 0n } }), INFO);
    expect(one.match).toEqual([{ fieldId: 3, range: { low: hex('0050'), high: hex('0050') } }]);
  });

  it.each([
    [{ ...entry({}), table: 'u' }, /no table u/],
    [{ ...entry({}), action: 'b' }, /no action b/],
    [entry({ x: { value: 0n, mask: 1n } }), /table t has no key x/],
    [entry({ e: { value: 0n, mask: 1n } }), /key e has exact matches/],
    [entry({ t: { lo: 0n, hi: 1n } }), /key t has ternary matches/],
    [entry({ r: { value: 0n, mask: 1n } }), /key r has range matches/],
    [entry({}, {}), /action a needs p/],
  ])('is refused by name %#', (wrong, reason) => {
    expect(() => tableEntry(wrong, INFO)).toThrow(reason);
  });

  it('is known again however a switch pads and orders it', () => {
    const ours = tableEntry(entry({ e: { value: 1n, mask: 0xffffn }, r: { lo: 2n, hi: 3n } }), INFO);
    const theirs = {
      ...ours,
      match: [
        { fieldId: 3, range: { low: hex('0002'), high: hex('0003') } },
        { fieldId: 1, exact: { value: hex('0001') } },
      ],
      action: { action: { actionId: 5, params: [{ paramId: 1, value: hex('0003') }] } },
    };
    expect(identityOf(theirs)).toBe(identityOf(ours));
    expect(contentOf(theirs)).toBe(contentOf(ours));
    const whole = { fieldId: 2, ternary: { value: hex('00'), mask: hex('00000000') } };
    expect(identityOf(asWritten({ ...theirs, match: [...theirs.match, whole] }, INFO))).toBe(identityOf(ours));
    const every = { tableId: 1, match: [{ fieldId: 3, range: { low: hex('0000'), high: hex('ffff') } }] };
    expect(asWritten(every, INFO).match).toEqual([]);
    expect(identityOf({ ...theirs, priority: 8 })).not.toBe(identityOf(ours));
    expect(contentOf({ ...theirs, action: { action: { actionId: 6 } } })).not.toBe(contentOf(ours));
  });
});

it.each([
  [0, '00'],
  [1, '01'],
  [0x100, '0100'],
  [2n ** 64n, '010000000000000000'],
])('bytes of %s', (value, text) => {
  expect(canonicalBytes(value).toString('hex')).toBe(text);
  expect(BigInt(`0x${numberText(canonicalBytes(value))}`)).toBe(BigInt(value));
});
