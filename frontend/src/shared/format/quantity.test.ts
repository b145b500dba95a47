import { describe, expect, it } from 'vitest';
import { formatQuantity, type Quantity, quantityText, VALUE_WIDTH_CH } from './quantity.js';

describe('formatQuantity', () => {
  it.each<[Quantity, number, string]>([
    ['bps', 0, '0 bit/s'],
    ['bps', 999, '999 bit/s'],
    ['bps', 1000, '1.00 kbit/s'],
    ['bps', 12_345_678, '12.3 Mbit/s'],
    ['bps', 999_600_000, '1.00 Gbit/s'],
    ['pps', 2480, '2.48 kpkt/s'],
    ['us', 0.5, '0.50 µs'],
    ['us', 880, '880 µs'],
    ['us', 2411, '2.41 ms'],
    ['us', 1_500_000, '1.50 s'],
    ['share', 0.215, '21.5 %'],
    ['share', 1, '100 %'],
    ['share', 0.0002, '<0.1 %'],
    ['ms', 90_000, '1.50 min'],
    ['bytes', 48_213, '48.2 kB'],
    ['count', 8, '8'],
    ['bps', -2000, '−2.00 kbit/s'],
  ])('writes %s %d as %s', (quantity, value, text) => {
    expect(quantityText(quantity, value)).toBe(text);
  });

  it('has a dash for what is not known', () => {
    expect(quantityText('bps', null)).toBe('–');
    expect(quantityText('us', undefined)).toBe('–');
    expect(quantityText('us', Number.NaN)).toBe('–');
  });

  it('never outgrows its box, so that live figures do not move', () => {
    const highest = { bps: 14.9, pps: 11.9, us: 8.9, bytes: 14.9, count: 14.9, ms: 8.9 };
    for (const [quantity, top] of Object.entries(highest)) {
      for (let exponent = -2; exponent < top; exponent += 0.013) {
        const { value } = formatQuantity(quantity as Quantity, 10 ** exponent);
        expect(value.length, `${quantity} ${10 ** exponent} is ${value}`).toBeLessThanOrEqual(VALUE_WIDTH_CH);
      }
    }
  });
});
