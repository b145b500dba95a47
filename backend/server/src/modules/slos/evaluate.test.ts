import { bucketOf, type Slo } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import type { ExitWindow } from '../../ports/telemetry.js';
import { evaluateSlo } from './evaluate.js';

const latency: Slo = { id: 'l', kind: 'latency', percentile: 90, max_us: 100 };
const throughput: Slo = { id: 't', kind: 'throughput', min_bps: 8000 };
const window = (change: Partial<ExitWindow> = {}): ExitWindow => ({
  packets: 100,
  bytes: 10_000,
  latency_ns: [
    [bucketOf(20_000), 89],
    [bucketOf(200_000), 11],
  ],
  covered_s: 10,
  origin: 'twin',
  ...change,
});
const judge = (slo: Slo, given: ExitWindow | null, { stale = false, blackout = false } = {}) =>
  evaluateSlo(slo, { chainId: 'p', window: given, blackout, prediction: undefined, stale, origin: 'live', nowMs: 1 });

describe('evaluateSlo', () => {
  it('compares the percentile with the bound', () => {
    expect(judge(latency, window())).toMatchObject({ state: 'violated', unit: 'us', packets: 100, origin: 'twin' });
    expect(judge({ ...latency, percentile: 89 }, window())).toMatchObject({ state: 'met' });
  });

  it('compares throughput over the measured time with the bound', () => {
    expect(judge(throughput, window())).toMatchObject({ state: 'met', measured: 8000, unit: 'bps' });
    expect(judge(throughput, window({ bytes: 9999 }))).toMatchObject({ state: 'violated' });
    expect(judge(throughput, window({ covered_s: 5, bytes: 5000 }))).toMatchObject({ state: 'met', measured: 8000 });
  });

  it('has no data without packets, or too early', () => {
    expect(judge(latency, null)).toMatchObject({ state: 'no-data', measured: null, origin: 'live' });
    expect(judge(throughput, window({ packets: 0, bytes: 0 }))).toMatchObject({ state: 'no-data' });
    expect(judge(throughput, window({ covered_s: 1 }))).toMatchObject({ state: 'no-data' });
  });

  it('is violated while the chain loses every packet, whatever was measured before, and nothing is measured', () => {
    const status = { state: 'violated', measured: null };
    expect(judge(latency, window(), { blackout: true })).toMatchObject(status);
    expect(judge(throughput, null, { blackout: true })).toMatchObject(status);
  });

  it('is stale while a measuring agent is away, whatever has been measured', () => {
    expect(judge(latency, window(), { stale: true })).toMatchObject({ state: 'stale', measured: expect.any(Number) });
  });
});
