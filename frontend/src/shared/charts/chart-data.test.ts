import uPlot from 'uplot';
import { describe, expect, it, vi } from 'vitest';
import { toCsv } from '../files/csv.js';
import { GAP_MS } from '../stream/ring.js';
import { align, ascending, clockAheadMs, extend, sharesOf, silentSinceMs, valueAt } from './chart-data.js';

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
      [1, undefined, 3],
      [undefined, 20, 30],
    ]);
  });

  it('leaves out what is older than the window', () => {
    expect(align([[[1000, 1] as const, [5000, 5] as const]], 2000)).toEqual([[5], [5]]);
  });
});

it('shows points as a share of what each series is full at, and gaps as gaps', () => {
  const data = align(
    [
      [
        [1000, 0.025],
        [1000 + 2 * GAP_MS, 0.05],
      ],
      [[1000, 3]],
    ],
    0,
  );
  expect(sharesOf(data, [0.05, 1])).toEqual([data[0], [0.5, null, 1], [3, undefined, undefined]]);
  expect(sharesOf(data, [1, 1])).toBe(data);
});

/** What uPlot leaves out of the line of a series, in ms on the axis. */
function gapsDrawn(data: ReturnType<typeof align>, series: number): [number, number][] {
  vi.stubGlobal(
    'Path2D',
    class {
      moveTo() {}
      lineTo() {}
      rect() {}
    },
  );
  let drawn: [number, number][] = [];
  const line = {
    scale: 'y',
    pxRound: (value: number) => value,
    gaps: (_: unknown, __: number, ___: number, ____: number, gaps: [number, number][]) => {
      drawn = gaps;
      return gaps;
    },
  };
  const plot = {
    mode: 1,
    series: [{ scale: 'x' }, ...data.slice(1).map(() => line)],
    _data: data,
    scales: { x: { ori: 0, dir: 1, key: 'x' }, y: { ori: 1, dir: 1, key: 'y' } },
    bbox: { left: 0, top: 0, width: 1000, height: 100 },
    valToPosH: (t_s: number) => t_s * 1000,
    valToPosV: (value: number) => value,
  };
  uPlot.paths.linear!()(plot as unknown as uPlot, series, 0, data[0].length - 1);
  vi.unstubAllGlobals();
  return drawn;
}

describe('a series that fell silent', () => {
  const quiet = align(
    [
      [
        [1000, 5],
        [2000, 6],
        [2000 + GAP_MS + 1, 7],
      ],
      Array.from({ length: 12 }, (_, index) => [1000 + 500 * index, 1] as const),
    ],
    0,
  );

  it('has a gap, not a line through it, whatever other series measure meanwhile', () => {
    const [times, column] = quiet;
    const within = (t_s: number) => t_s > 2 && t_s < (2000 + GAP_MS + 1) / 1000;
    times.forEach((t_s, at) => {
      if (within(t_s)) expect(column![at]).toBeNull();
      else expect(column![at]).not.toBeNull();
    });
    expect(times.filter(within).length).toBeGreaterThan(3);
    expect(gapsDrawn(quiet, 1)).toEqual([[2000, 2000 + GAP_MS + 1]]);
    expect(gapsDrawn(quiet, 2)).toEqual([]);
  });

  it('has no value within the gap', () => {
    const at = (ms: number) => quiet[0].findIndex((t) => t * 1000 >= ms);
    expect(valueAt(quiet, 0, at(2000))).toBe(6);
    expect(valueAt(quiet, 0, at(3000))).toBeNull();
    expect(valueAt(quiet, 1, at(3000))).toBe(1);
  });

  it('says since when, once nothing at all arrives', () => {
    const data = align([[[1000, 5]]], 0);
    expect(silentSinceMs(data, 1000 + GAP_MS)).toBeNull();
    expect(silentSinceMs(data, 1001 + GAP_MS)).toBe(1000);
    expect(silentSinceMs([[], []], 9e9)).toBeNull();
  });
});

describe('the clock of the points', () => {
  const hour = 3_600_000;

  it.each([
    ['behind', 10_000 - hour],
    ['ahead', 10_000 + hour],
  ])('tells silence after the same time when the browser is an hour %s', (_, received_ms) => {
    const data = align([[[10_000, 5]]], 0);
    const ahead_ms = clockAheadMs(
      [undefined, { t_ms: 9000, received_ms: received_ms - 1000 }, { t_ms: 10_000, received_ms }],
      0,
    );
    expect(silentSinceMs(data, received_ms + GAP_MS - ahead_ms)).toBeNull();
    expect(silentSinceMs(data, received_ms + GAP_MS + 1 - ahead_ms)).toBe(10_000);
  });

  it('is remembered while nothing arrives', () => {
    expect(clockAheadMs([undefined], 42)).toBe(42);
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

describe('a clock that was set back', () => {
  const hour = 3_600_000;

  it('leaves out what it stamped with later times', () => {
    const points: [number, number][] = [
      [hour - 10_000, 1],
      [hour, 2],
      [hour + 10_000, 3],
    ];
    extend(
      points,
      [
        [hour, 4],
        [hour + 200, 5],
      ],
      0,
    );
    expect(points).toEqual([
      [hour - 10_000, 1],
      [hour, 4],
      [hour + 200, 5],
    ]);
  });

  it('leaves it out of a history too, but not for points out of order', () => {
    expect(
      ascending([
        [hour, 1],
        [2 * hour, 2],
        [2 * hour - 100, 3],
        [hour + 10, 4],
      ]),
    ).toEqual([
      [hour, 1],
      [hour + 10, 4],
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
