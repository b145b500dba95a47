import { describe, expect, it } from 'vitest';
import {
  contains,
  curve,
  distanceToLine,
  extentOf,
  facingSide,
  fitTransform,
  offsetLine,
  placeOnSide,
} from './geometry.js';

const box = { x: 100, y: 50, w: 80, h: 40 };

describe('boxes', () => {
  it('contain their points and, with slack, some around', () => {
    expect(contains(box, { x: 140, y: 70 })).toBe(true);
    expect(contains(box, { x: 141, y: 70 })).toBe(false);
    expect(contains(box, { x: 141, y: 70 }, 2)).toBe(true);
  });

  it('face each other across the wider gap, whatever their shapes', () => {
    const tall = { x: 300, y: -100, w: 200, h: 190 };
    const flat = { x: 0, y: 100, w: 300, h: 44 };
    expect(facingSide(tall, flat)).toBe('bottom');
    expect(facingSide(flat, tall)).toBe('top');
    expect(facingSide(box, { ...box, x: 400 })).toBe('right');
    expect(facingSide(box, { ...box, x: -400 })).toBe('left');
  });

  it('spread places evenly along a side', () => {
    expect([0, 1, 2].map((index) => placeOnSide(box, 'top', index, 3).x)).toEqual([80, 100, 120]);
    expect(placeOnSide(box, 'right', 0, 1)).toEqual({ x: 140, y: 50 });
  });
});

describe('lines', () => {
  it('begin and end where they are told, and leave at right angles', () => {
    const line = curve({ x: 0, y: 0 }, 'bottom', { x: 200, y: 100 }, 'top');
    expect(line[0]).toEqual({ x: 0, y: 0 });
    expect(line.at(-1)).toEqual({ x: 200, y: 100 });
    expect(Math.abs(line[1]!.x)).toBeLessThan(Math.abs(line[1]!.y));
  });

  it('tell how far a point is', () => {
    const line = [
      { x: 0, y: 0 },
      { x: 100, y: 0 },
    ];
    expect(distanceToLine(line, { x: 50, y: 7 })).toBe(7);
    expect(distanceToLine(line, { x: 103, y: 4 })).toBe(5);
  });

  it('have a lane for each direction, on different sides', () => {
    const line = [
      { x: 0, y: 0 },
      { x: 100, y: 0 },
    ];
    const there = offsetLine(line, 4);
    const back = offsetLine([...line].reverse(), 4);
    expect(there[0]!.y).toBe(-back[0]!.y);
    expect(Math.abs(there[0]!.y)).toBe(4);
  });
});

describe('fitTransform', () => {
  it('puts the whole extent inside the margins, centred', () => {
    const extent = extentOf([box, { x: -300, y: 200, w: 100, h: 100 }])!;
    const { k, x, y } = fitTransform(extent, 800, 600, 32, 1.25);
    for (const [px, py] of [
      [extent.x0 * k + x, extent.y0 * k + y],
      [extent.x1 * k + x, extent.y1 * k + y],
    ] as const) {
      expect(px).toBeGreaterThanOrEqual(31.99);
      expect(px).toBeLessThanOrEqual(768.01);
      expect(py).toBeGreaterThanOrEqual(31.99);
      expect(py).toBeLessThanOrEqual(568.01);
    }
    expect(((extent.x0 + extent.x1) / 2) * k + x).toBeCloseTo(400);
  });

  it('is as large as it must be to be read, around the middle', () => {
    const { k, x, y } = fitTransform({ x0: -1000, y0: 0, x1: 1000, y1: 400 }, 400, 600, 32, 1.25, 0.45);
    expect(k).toBe(0.45);
    expect([0 * k + x, 200 * k + y]).toEqual([200, 300]);
  });

  it('does not blow up a small network', () => {
    expect(fitTransform({ x0: 0, y0: 0, x1: 10, y1: 10 }, 800, 600, 32, 1.25).k).toBe(1.25);
  });

  it('has no extent for nothing', () => {
    expect(extentOf([])).toBeNull();
  });
});
