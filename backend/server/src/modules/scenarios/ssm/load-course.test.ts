import { FlowGeneratorConfig } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type LoadCourse, offeredAt, waveOf } from './load-course.js';

const course = fc.record({
  tunnels: fc.constantFrom(2, 3, 4),
  period_s: fc.double({ min: 2.5, max: 150, noNaN: true }),
  high_bps: fc.constant(50e6),
  low_bps: fc.constant(1e6),
});

/** As a generator reads a wave that it repeats. */
function rateOf(points: ReturnType<typeof waveOf>, s: number): number {
  const at = s % points.at(-1)!.at_s;
  const after = points.findIndex(({ at_s }) => at < at_s);
  const [from, to] = [points[after - 1]!, points[after]!];
  return from.rate_bps + ((at - from.at_s) / (to.at_s - from.at_s)) * (to.rate_bps - from.rate_bps);
}

it('is, as a wave that is repeated, what each tunnel is offered at any time', () => {
  fc.assert(
    fc.property(course, fc.double({ min: 0, max: 400, noNaN: true }), (of, s) => {
      for (let n = 1; n <= of.tunnels; n++) {
        const wave = waveOf(of, n);
        expect(FlowGeneratorConfig.safeParse({ to: 'web-1', wave, wave_repeats: true }).success).toBe(true);
        // A point is left out where it is a millisecond from another one.
        expect(Math.abs(rateOf(wave, s) - offeredAt(of, n, s))).toBeLessThan(1e6);
      }
    }),
    { numRuns: 300, seed: 65 },
  );
});

it('overloads half of the tunnels at a time, each for half of every period, in turn', () => {
  const of = (tunnels: number): LoadCourse => ({ tunnels, period_s: 27.5, high_bps: 9, low_bps: 1 });
  const loads = (tunnels: number, s: number) =>
    Array.from({ length: tunnels }, (_, n) => offeredAt(of(tunnels), n + 1, s));
  expect([1, 13, 14, 27].map((s) => loads(2, s))).toEqual([
    [9, 1],
    [9, 1],
    [1, 9],
    [1, 9],
  ]);
  expect(loads(4, 3)).toEqual([9, 1, 1, 9]);
  expect(loads(4, 10)).toEqual([9, 9, 1, 1]);
  expect(loads(4, 10 + 27.5)).toEqual([9, 9, 1, 1]);
  const mean = (n: number, from: number) =>
    Array.from({ length: 2750 }, (_, i) => offeredAt(of(4), n, from + i / 100)).reduce((a, b) => a + b, 0) / 2750;
  // Over a whole period, from wherever it is measured.
  for (const n of [1, 2, 3, 4]) for (const from of [0, 2, 9.3]) expect(mean(n, from)).toBeCloseTo(5, 2);
});
