import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Api } from './api-caller.js';
import { E2_LOAD_WAVE } from './e2-load-wave/e2-load-wave.js';
import { E2_SPLIT } from './e2-split/e2-split.js';
import { above, historyOf, thinned, valueAt } from './series.js';
import { SSM_FOUR_TUNNELS, SSM_TWO_TUNNELS } from './ssm/tunnels-in-turn.js';

it('reads every sample, so that no figure misses what a few of them tell', async () => {
  const points = Array.from({ length: 900 }, (_, n) => [1000 + 200 * n, n === 451 ? 7 : 0]);
  const api = { call: async () => ({ items: [{ key: 'a', points }] }) } as unknown as Api;
  const found = await historyOf(api, 'a', 1000, 2);
  expect(found).toHaveLength(900);
  expect(found.filter(([, value]) => value > 0)).toEqual([[90.2, 14]]);
  expect(await historyOf(api, 'b', 1000)).toEqual([]);
});

it('compares what was measured at the same times, also where one was not', () => {
  const p99: [number, number][] = [1, 2, 3, 4].map((s) => [s, 100 * s]);
  const p50: [number, number][] = [1, 3, 4, 5].map((s) => [s, 10 * s]);
  expect(above(p99, p50)).toEqual([
    [1, 90],
    [3, 270],
    [4, 360],
  ]);
});

it('refuses what takes longer than samples are kept, at the field', () => {
  expect(() => E2_LOAD_WAVE.script({ hold_s: 300, slope_s: 200 })).toThrow(
    '/parameters/hold_s: makes 1500 s that are measured, more than 580 s: ',
  );
  expect(() => E2_LOAD_WAVE.script({ hold_s: 10, slope_s: 300 })).toThrow('/parameters/slope_s: makes 930 s');
  expect(() => E2_LOAD_WAVE.script({ hold_s: 90, slope_s: 90 })).not.toThrow();
  expect(() => SSM_FOUR_TUNNELS.script({ slice_s: 60, load: 'uneven' })).toThrow('/parameters/slice_s: makes 904 s');
  expect(() => SSM_FOUR_TUNNELS.script({ turns: 20 })).toThrow('/parameters/turns: makes 961 s');
  expect(() => SSM_FOUR_TUNNELS.script({ turns: 1, slice_s: 60 })).toThrow('/parameters/slice_s: makes 664 s');
  expect(() => SSM_TWO_TUNNELS.script({ turns: 15, slice_s: 11 })).not.toThrow();
  expect(() => E2_SPLIT.script({ seconds: 600 })).toThrow('/parameters/seconds');
});

it('thins what is drawn, evenly', () => {
  const points = (count: number) => Array.from({ length: count }, (_, n) => n);
  expect(thinned(points(500))).toHaveLength(500);
  expect(thinned(points(3000))).toEqual(points(500).map((n) => 6 * n));
});

it('knows the latest value at any time, as looking at all of them would', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 40 });
  fc.assert(
    fc.property(gaps, fc.integer({ min: -1, max: 130 }), (between, s) => {
      const points = between.map((_, n): [number, number] => [
        between.slice(0, n + 1).reduce((sum, gap) => sum + gap, 0),
        n,
      ]);
      const before = points.filter(([since]) => since <= s);
      expect(valueAt(points, s)).toBe(before.at(-1)?.[1] ?? null);
    }),
  );
});
