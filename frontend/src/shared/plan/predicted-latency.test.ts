import type { ClassForecast } from '@orrery/contract';
import { expect, it } from 'vitest';
import { gainOf, pointsText, predictedLatency } from './predicted-latency.js';

const path = (chain_id: string, rate_bps: number, mean_us: number) =>
  ({ chain_id, rate_bps, mean_us, p50_us: mean_us / 2, p99_us: 3 * mean_us }) as ClassForecast;

it('weighs the paths of the chain by their traffic', () => {
  const classes = [path('a', 3e6, 10), path('a', 1e6, 50), path('b', 9e9, 999)];
  expect(predictedLatency({ classes }, 'a')).toEqual({ mean_us: 20, p50_us: 5, p99_us: 150 });
  expect(predictedLatency({ classes: [path('a', 0, 10), path('a', 0, 50)] }, 'a')?.mean_us).toBe(30);
  expect(predictedLatency({ classes }, 'c')).toBeNull();
});

it('has the median of the path of the packet in the middle, if all are predicted', () => {
  const slow = path('a', 6e6, 1000);
  expect(predictedLatency({ classes: [path('a', 4e6, 10), slow] }, 'a')?.p50_us).toBe(500);
  expect(predictedLatency({ classes: [path('a', 0, 10), path('a', 0, 10)] }, 'a')?.p50_us).toBe(5);
  const { p50_us: _, ...old } = path('a', 1e6, 10);
  expect(predictedLatency({ classes: [old, slow] }, 'a')?.p50_us).toBeNull();
});

it('is the share that is saved, with its sign', () => {
  expect(gainOf(100, 80)).toBeCloseTo(0.2);
  expect(gainOf(100, 120)).toBeCloseTo(-0.2);
  expect(gainOf(undefined, 80)).toBeNull();
  expect(gainOf(0, 80)).toBeNull();
});

it('names the difference of two shares in points', () => {
  expect([0.012, -0.2, 0.0004].map(pointsText)).toEqual(['1.2 points more', '20.0 points less', 'as predicted']);
});
