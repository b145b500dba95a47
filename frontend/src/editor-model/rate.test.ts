import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRate, rateText } from './rate.js';

describe('rates', () => {
  it('reads what operators type', () => {
    expect(parseRate('20M')).toBe(20e6);
    expect(parseRate('1.5 Gbit/s')).toBe(1.5e9);
    expect(parseRate('800kbps')).toBe(800e3);
    expect(parseRate('64')).toBe(64);
    for (const text of ['', 'fast', '-1M', '20 MB', '11T']) expect(parseRate(text)).toBeNull();
  });

  it('reads back exactly what it writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e13 }), (bps) => {
        expect(parseRate(rateText(bps))).toBe(bps);
      }),
    );
  });
});
