import { expect, it } from 'vitest';
import { P4Reading } from './p4-entries.js';
import type { P4MatchKind } from './p4-program.js';
import { allOnes, p4MatchText, p4ValueText } from './p4-values.js';

/** Widest field that a program can have. */
const BITS = 4096;
const most = allOnes(BITS);

it.each([
  ['ternary', { value: most ^ 1n, mask: most ^ 1n ^ (1n << 9n) }],
  ['lpm', { value: most ^ 1n, mask: most ^ 1n }],
  ['range', { lo: most - 1n, hi: most }],
  ['exact', { value: most, mask: most }],
] as const)(
  'what another controller wrote is read: %s, of the widest field and the highest priority',
  (kind, match) => {
    const text = p4MatchText(match, kind satisfies P4MatchKind, BITS, 'wide');
    const params = { wide: p4ValueText(most, BITS, 'wide') };
    const counts = { packets: null, bytes: null };
    const reading = {
      hash: 'a'.repeat(64),
      entries: [
        { table: 'T.t', match: { wide: text }, priority: 0x7fff_ffff, action: 'T.a', params, ...counts, own: false },
      ],
      left_out: 0,
      default_actions: [{ table: 'T.t', action: 'T.a', params, ...counts }],
      groups: [],
    };
    expect(P4Reading.parse(reading)).toEqual(reading);
  },
);
