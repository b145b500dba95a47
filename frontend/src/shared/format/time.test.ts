import { describe, expect, it } from 'vitest';
import { ageText, durationText } from './time.js';

describe('ageText', () => {
  it.each([
    [-500, 'now'],
    [400, 'now'],
    [12_900, '12 s ago'],
    [200_000, '3 min ago'],
    [7_300_000, '2 h ago'],
    [200_000_000, '2 d ago'],
  ])('tells %d ms as %s', (ms, text) => expect(ageText(ms)).toBe(text));
});

describe('durationText', () => {
  it.each([
    [840, '840 ms'],
    [2400, '2.4 s'],
    [200_000, '3 min 20 s'],
    [7_500_000, '2 h 5 min'],
  ])('tells %d ms as %s', (ms, text) => expect(durationText(ms)).toBe(text));
});
