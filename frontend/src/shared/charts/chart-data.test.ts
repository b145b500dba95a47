import { describe, expect, it } from 'vitest';
import { toCsv } from '../files/csv.js';
import { align, extend } from './chart-data.js';

describe('align', () => {
  it('joins series on the union of their times, with holes where one has none', () => {
    const a = [
      [1000, 1],
      [3000, 3],
    ] as const;
    const b = [
      [2000, 20],
      [3000, 30],
    ] as const;
    expect(align([a, b], 0)).toEqual([
      [1, 2, 3],
      [1, null, 3],
      [null, 20, 30],
    ]);
  });

  it('leaves out what is older than the window', () => {
    expect(align([[[1000, 1] as const, [5000, 5] as const]], 2000)).toEqual([[5], [5]]);
  });
});

describe('extend', () => {
  it('adds only newer points and forgets old ones', () => {
    const points: [number, number][] = [
      [1, 1],
      [2, 2],
    ];
    extend(
      points,
      [
        [2, 9],
        [3, 3],
      ],
      2,
    );
    expect(points).toEqual([
      [2, 2],
      [3, 3],
    ]);
  });
});

describe('toCsv', () => {
  it('quotes what would break a row', () => {
    expect(
      toCsv(
        ['time', 'a,b'],
        [
          ['say "x"', null],
          ['1', 2],
        ],
      ),
    ).toBe('time,"a,b"\r\n"say ""x""",\r\n1,2');
  });
});
