import { describe, expect, it } from 'vitest';
import { bestOf, deltaText, FIGURES, figuresFor } from './compare.js';

const cross = FIGURES.find(({ id }) => id === 'cross')!;

describe('figuresFor', () => {
  it('begins with what the dimension decides and leaves nothing out', () => {
    const figures = figuresFor('scheduling');
    expect(figures[0]!.of).toContain('scheduling');
    expect(new Set(figures)).toEqual(new Set(FIGURES));
  });
});

describe('bestOf', () => {
  it('is the lowest or the highest', () => {
    expect(bestOf('low', [3, null, 2])).toBe(2);
    expect(bestOf('high', [3, null, 2])).toBe(3);
  });

  it('is nothing where all are alike or there is one only', () => {
    expect(bestOf('low', [0.1 + 0.2, 0.3])).toBeNull();
    expect(bestOf('low', [1, null])).toBeNull();
  });
});

describe('deltaText', () => {
  it.each([
    [112, 100, '+12.0 %'],
    [50, 100, '−50.0 %'],
    [100.01, 100, ''],
    [5_000_000, 0, '+5.00 Mbit/s'],
    [1500, 100, '×15'],
  ])('tells %d against %d as %s', (value, chosen, text) => expect(deltaText(cross, value, chosen)).toBe(text));

  it('tells differences of counts and of parts as they are', () => {
    const of = (id: string) => FIGURES.find((figure) => figure.id === id)!;
    expect(deltaText(of('met'), 4, 5)).toBe('−1');
    expect(deltaText(of('gap'), 0.5, 0.25)).toBe('+25.0 %');
  });
});
