import { describe, expect, it } from 'vitest';
import { addPoint, type Table, tableAt, toCsv, trim } from './use-history.js';

const empty = (): Table => ({ times: [], columns: [[], []] });

describe('history', () => {
  it('puts values of one time on one row and leaves gaps as null', () => {
    const table = empty();
    addPoint(table, 0, 100, 1);
    addPoint(table, 1, 100, 2);
    addPoint(table, 0, 200, 3);
    expect(table).toEqual({
      times: [100, 200],
      columns: [
        [1, 3],
        [2, null],
      ],
    });
    addPoint(table, 1, 50, 9);
    expect(table.times).toEqual([100, 200]);
  });

  it('is bounded by time and by number', () => {
    const table = empty();
    for (let t = 0; t < 1000; t += 10) addPoint(table, 0, t, t);
    trim(table, 500, 1000);
    expect(table.times[0]).toBe(490);
    trim(table, 500, 5);
    expect(table.times).toEqual([950, 960, 970, 980, 990]);
    expect(table.columns.map((column) => column.length)).toEqual([5, 5]);
  });

  it('thins rows for a table and writes all of them as CSV', () => {
    const table = empty();
    for (let t = 0; t <= 400; t += 100) addPoint(table, 0, t, t);
    expect(tableAt(table, 200)).toEqual([
      [400, 400, null],
      [200, 200, null],
      [0, 0, null],
    ]);
    expect(toCsv(table, ['a', 'b']).split('\n')).toHaveLength(7);
  });
});
