import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromUnit, inUnit, type Metric, thresholdPlaces } from './thresholds.js';

describe('units of thresholds', () => {
  it('shows a threshold in the unit of its metric', () => {
    expect([inUnit(300.5e6, 'bps'), inUnit(20_000, 'pps'), inUnit(0.07, 'cpu')]).toEqual([300.5, 20, 7]);
  });

  it('gives back what was typed, without digits that the scale leaves behind', () => {
    const metric = fc.constantFrom<Metric>('bps', 'pps', 'cpu');
    fc.assert(
      fc.property(metric, fc.integer({ min: 0, max: 10_000_000 }), (unit, typed) => {
        expect(inUnit(fromUnit(typed / 100, unit), unit)).toBe(typed / 100);
      }),
    );
  });
});

describe('thresholdPlaces', () => {
  it('keeps the upper threshold off the end of the bar, unless the load is beyond', () => {
    expect(thresholdPlaces({ up: 80, down: 40 }, null)).toEqual({ up: 0.8, down: 0.4, load: null });
    expect(thresholdPlaces({ up: 80, down: 40 }, 160)).toEqual({ up: 0.5, down: 0.25, load: 1 });
  });
});
