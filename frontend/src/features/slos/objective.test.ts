import type { SloStatus } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { mergeSlos } from '../../shared/stream/slo-rows.js';
import { errorText, predictionError, usedShare } from './objective.js';

const slo = (rest: Partial<SloStatus>): SloStatus => ({
  chain_id: 'pl',
  slo_id: 'latency',
  kind: 'latency',
  state: 'met',
  target: 1000,
  measured: 500,
  predicted: 400,
  unit: 'us',
  window_s: 10,
  packets: 5,
  origin: 'twin',
  t_ms: 100,
  ...rest,
});

describe('an objective', () => {
  it('tells how far the measurement is from the prediction', () => {
    expect(predictionError(slo({}))).toBeCloseTo(0.25);
    expect(predictionError(slo({ measured: null }))).toBeNull();
    expect(predictionError(slo({ predicted: 0 }))).toBeNull();
  });

  it('is used up at its target, a limit or a floor', () => {
    expect(usedShare(slo({ measured: 1000 }))).toBe(1);
    expect(usedShare(slo({ kind: 'throughput', target: 100, measured: 50 }))).toBe(2);
    expect(usedShare(slo({ kind: 'throughput', measured: 0 }))).toBe(Number.POSITIVE_INFINITY);
    expect(usedShare(slo({ measured: null }))).toBeNull();
  });
});

describe('errorText', () => {
  it.each([
    [0.1238, '+12.4 %'],
    [-0.03, '−3.0 %'],
    [32.4, '33 times'],
  ])('tells %d as %s', (error, text) => expect(errorText(error)).toBe(text));
});

describe('mergeSlos', () => {
  it('takes the newer figure, and no objective that is gone', () => {
    const known = [slo({ measured: 1 }), slo({ slo_id: 'b', t_ms: 300, measured: 2 })];
    const streamed = [
      slo({ measured: 9, t_ms: 200 }),
      slo({ slo_id: 'b', t_ms: 200, measured: 9 }),
      slo({ slo_id: 'gone' }),
    ];
    expect(mergeSlos(known, streamed).map(({ measured }) => measured)).toEqual([9, 2]);
  });
});
