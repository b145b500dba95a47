import { bucketOf, type Slo } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import type { Carriage } from '../../ports/data-path.js';
import type { ExitWindow } from '../../ports/telemetry.js';
import { evaluateSlo, LOSS_TOLERANCE, signedError } from './evaluate.js';

const latency: Slo = { id: 'l', kind: 'latency', percentile: 90, max_us: 100 };
const loss: Slo = { id: 'loss', kind: 'loss', max_share: 0.01 };
const availability: Slo = { id: 'up', kind: 'availability', min_share: 0.5 };
const throughput: Slo = { id: 't', kind: 'throughput', min_bps: 8000 };
const window = (change: Partial<ExitWindow> = {}): ExitWindow => ({
  packets: 100,
  bytes: 10_000,
  latency_ns: [
    [bucketOf(20_000), 89],
    [bucketOf(200_000), 11],
  ],
  covered_s: 10,
  steady_s: 10,
  origin: 'twin',
  ...change,
});
const carried = (share: number, offered_bps = 800, lost_share = 0): Carriage => ({
  offered_packets: 100,
  offered_bps,
  share,
  lost_share,
});
interface Given {
  readonly stale?: boolean;
  readonly blackout?: boolean;
  readonly carriage?: Carriage | 'unknown' | null;
  readonly delivers?: boolean;
  readonly isSpent?: boolean;
}
const judge = (
  slo: Slo,
  given: ExitWindow | null,
  { stale = false, blackout = false, carriage = null, delivers = true, isSpent = false }: Given = {},
) => {
  const facts = {
    chainId: 'p',
    blackout,
    stale,
    carriage,
    delivers,
    origin: 'live',
    nowMs: 1,
    warmUp: !given || given.steady_s >= 10 ? 'over' : isSpent ? 'spent' : 'on',
  } as const;
  return evaluateSlo(slo, { ...facts, window: given, prediction: undefined });
};

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

  it('does not blame a chain for clients that offer less than the objective, but for what it loses of that', () => {
    const little = window({ bytes: 1000 });
    const carrying = (share: number) => judge(throughput, little, { carriage: carried(share, 800) });
    expect(carrying(1)).toMatchObject({ state: 'met', measured: 800, offered: 800, carried: 1 });
    expect(carrying(1 - LOSS_TOLERANCE)).toMatchObject({ state: 'met' });
    expect(carrying(1 - LOSS_TOLERANCE - 0.01)).toMatchObject({ state: 'violated' });
    expect(judge(throughput, window(), { carriage: carried(0.5, 16_000) })).toMatchObject({
      state: 'met',
    });
  });

  it('says that a throughput is out of date while nobody knows what is offered, unless it reaches the target', () => {
    const unknown = { carriage: 'unknown' } as const;
    expect(judge(throughput, window({ bytes: 1000 }), unknown)).toMatchObject({ state: 'stale', offered: null });
    expect(judge(throughput, window({ packets: 0, bytes: 0 }), unknown)).toMatchObject({ state: 'stale' });
    expect(judge(throughput, window(), unknown)).toMatchObject({ state: 'met', carried: null });
    expect(judge(latency, window(), unknown)).toMatchObject({ state: 'violated' });
    expect(judge(throughput, window(), { ...unknown, blackout: true })).toMatchObject({ state: 'violated' });
  });

  it('says that every objective is out of date while switches are silent and nothing leaves the chain', () => {
    const frozen = { carriage: 'unknown', delivers: false } as const;
    for (const slo of [latency, { ...latency, percentile: 89 }, throughput]) {
      expect(judge(slo, window(), frozen)).toMatchObject({ state: 'stale' });
      expect(judge(slo, window({ packets: 0, bytes: 0, latency_ns: [] }), frozen)).toMatchObject({ state: 'stale' });
      expect(judge(slo, window({ steady_s: 1 }), frozen)).toMatchObject({ state: 'stale' });
      expect(judge(slo, window(), { ...frozen, blackout: true })).toMatchObject({ state: 'violated' });
      expect(judge(slo, window(), { ...frozen, carriage: null })).not.toMatchObject({ state: 'stale' });
    }
  });

  it('is violated where packets are offered and none leaves, though nothing is measured to leave', () => {
    const nothing = window({ packets: 0, bytes: 0, latency_ns: [] });
    const status = judge(throughput, nothing, { carriage: carried(0, 800) });
    expect(status).toMatchObject({ state: 'violated', measured: 0, carried: 0 });
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

  it('is warming up until what runs has carried packets for a while, however slow the first ones were', () => {
    expect(judge(latency, window({ steady_s: 9.9 }))).toMatchObject({
      state: 'warming-up',
      measured: expect.any(Number),
    });
    expect(judge(throughput, window({ steady_s: 9.9, bytes: 10 }))).toMatchObject({ state: 'warming-up' });
    expect(judge(latency, window({ steady_s: 10 }))).toMatchObject({ state: 'violated' });
  });

  it('is judged, and says so, where it changes too often to be waited for', () => {
    const spent = { isSpent: true };
    expect(judge(latency, window({ steady_s: 1 }), spent)).toMatchObject({
      state: 'violated',
      cause: expect.stringContaining('changes too often'),
    });
    const met = judge({ ...latency, percentile: 89 }, window({ steady_s: 1 }), spent);
    expect([met.state, met.cause]).toEqual(['met', undefined]);
  });

  it('does not wait to tell that a chain loses everything', () => {
    expect(judge(latency, window({ steady_s: 1 }), { blackout: true })).toMatchObject({ state: 'violated' });
    const lost = { carriage: carried(0, 800) };
    const nothing = window({ packets: 0, bytes: 0, latency_ns: [], steady_s: 0 });
    expect(judge(throughput, nothing, lost)).toMatchObject({ state: 'violated' });
  });

  it('is stale while a measuring agent is away, whatever has been measured', () => {
    expect(judge(latency, window(), { stale: true })).toMatchObject({ state: 'stale', measured: expect.any(Number) });
  });

  it('compares what is lost of the offered packets with the bound: exactly where it is counted, and beyond the skew elsewhere', () => {
    const losing = (share: number, lost: number) => judge(loss, window(), { carriage: carried(share, 800, lost) });
    expect(losing(1, 0.01)).toMatchObject({ state: 'met', measured: 0.01, target: 0.01, unit: 'share' });
    expect(losing(1, 0.02)).toMatchObject({ state: 'violated', measured: 0.02 });
    expect(losing(1 - LOSS_TOLERANCE + 0.01, 0)).toMatchObject({ state: 'met', measured: 0 });
    expect(losing(0.9, 0.02)).toMatchObject({ state: 'violated', offered: 800, carried: 0.9 });
    expect(losing(0.9, 0.02).measured).toBeCloseTo(0.1);
    expect(losing(1 - LOSS_TOLERANCE - 0.01, 0.02)).toMatchObject({ measured: 0.02 });
    expect(losing(0.99, 0.5)).toMatchObject({ state: 'violated', measured: 0.5 });
  });

  it('calls a chain unavailable while too little of what is offered gets through', () => {
    const carrying = (share: number) => judge(availability, window(), { carriage: carried(share) });
    expect(carrying(0.5)).toMatchObject({ state: 'met', measured: 0.5, target: 0.5, unit: 'share', window_s: 3 });
    expect(carrying(0.49)).toMatchObject({ state: 'violated' });
    expect(judge(availability, null, { carriage: carried(0) })).toMatchObject({ state: 'violated', measured: 0 });
  });

  it('does not judge loss and availability while nothing is offered, or while nobody knows what is', () => {
    for (const slo of [loss, availability]) {
      expect(judge(slo, window())).toMatchObject({ state: 'no-data', measured: null });
      expect(judge(slo, window(), { blackout: true })).toMatchObject({ state: 'no-data', measured: null });
      expect(judge(slo, window(), { carriage: 'unknown' })).toMatchObject({ state: 'stale', measured: null });
      expect(judge(slo, window(), { carriage: carried(1), stale: true })).toMatchObject({ state: 'stale' });
      expect(judge(slo, window({ steady_s: 1 }), { carriage: carried(0.4) })).toMatchObject({ state: 'warming-up' });
    }
    const cut = { carriage: carried(0.9), blackout: true };
    expect(judge(loss, window(), cut)).toMatchObject({ state: 'violated', measured: 1 });
    expect(judge(availability, window(), cut)).toMatchObject({ state: 'violated', measured: 0 });
  });

  it('tells how far the measurement is from the prediction, with its sign', () => {
    expect(signedError(500, 400)).toBeCloseTo(0.25);
    expect(signedError(300, 400)).toBeCloseTo(-0.25);
    expect([signedError(null, 400), signedError(500, null), signedError(500, 0)]).toEqual([null, null, null]);
  });
});
