import { expect, it } from 'vitest';
import { axisTexts } from './axis-texts.js';

it('names the points of an axis as figures are written elsewhere', () => {
  expect(axisTexts('share', [0, 0.1, 0.2])).toEqual(['0 %', '10.0 %', '20.0 %']);
  expect(axisTexts('bps', [0, 500, 1000])).toEqual(['0 bit/s', '500 bit/s', '1.00 kbit/s']);
});

it('has as many digits as the points need to differ', () => {
  expect(axisTexts('share', [0, 0.0005, 0.001, 0.0015])).toEqual(['0 %', '0.05 %', '0.10 %', '0.15 %']);
  expect(axisTexts('share', [0, 0.00025, 0.0005])).toEqual(['0 %', '0.025 %', '0.050 %']);
  expect(axisTexts('us', [0, 0.002, 0.004])).toEqual(['0 µs', '0.002 µs', '0.004 µs']);
  expect(axisTexts('count', [10_000, 10_010, 10_020])).toEqual(['10.00 k', '10.01 k', '10.02 k']);
});
