import { mergeHistograms, type Origin, percentileNs, type SparseHistogram } from '@orrery/contract';
import type { ExitWindow } from '../../ports/telemetry.js';
import type { ExitDelta } from './counter-rates.js';

const KEEP_MS = 15_000;

interface Interval {
  readonly end_ms: number;
  readonly interval_ms: number;
  readonly source: string;
  readonly packets: number;
  readonly bytes: number;
  readonly latency_ns: SparseHistogram;
}

/** Packets that left one chain in the forward direction, over all exits, interval by interval. */
export class ExitMeter {
  private intervals: Interval[] = [];
  private firstMs = Number.POSITIVE_INFINITY;
  private steadyFromMs = Number.POSITIVE_INFINITY;

  constructor(readonly origin: Origin) {}

  /** `nowMs`: time of the measurement by the server's monotonic clock. */
  add(source: string, delta: ExitDelta, intervalMs: number, nowMs: number): void {
    const { packets, bytes, latency_ns } = delta;
    this.intervals.push({ end_ms: nowMs, interval_ms: intervalMs, source, packets, bytes, latency_ns });
    this.firstMs = Math.min(this.firstMs, nowMs - intervalMs);
    if (packets > 0) this.steadyFromMs = Math.min(this.steadyFromMs, nowMs);
    const oldest = nowMs - KEEP_MS;
    while (this.intervals[0] && this.intervals[0].end_ms < oldest) this.intervals.shift();
  }

  /** Something else runs from now on. */
  unsettle(): void {
    this.steadyFromMs = Number.POSITIVE_INFINITY;
  }

  window(seconds: number, nowMs: number): ExitWindow {
    const from = nowMs - seconds * 1000;
    const inside = this.intervals.filter(({ end_ms }) => end_ms > from);
    return {
      packets: inside.reduce((sum, { packets }) => sum + packets, 0),
      bytes: inside.reduce((sum, { bytes }) => sum + bytes, 0),
      latency_ns: mergeHistograms(inside.map(({ latency_ns }) => latency_ns)),
      covered_s: Math.min(seconds, Math.max(0, (nowMs - this.firstMs) / 1000)),
      steady_s: Math.max(0, (nowMs - this.steadyFromMs) / 1000),
      origin: this.origin,
    };
  }

  /** Latest rates, summed over the exits; null if nothing was measured within a second. */
  now(nowMs: number): { pps: number; bps: number; p50_us: number | null; p99_us: number | null } | null {
    const newest = new Map<string, Interval>();
    for (const interval of this.intervals) if (interval.end_ms > nowMs - 1000) newest.set(interval.source, interval);
    if (newest.size === 0) return null;
    const parts = [...newest.values()];
    const perSecond = (amount: (part: Interval) => number) =>
      parts.reduce((sum, part) => sum + (amount(part) * 1000) / Math.max(part.interval_ms, 1), 0);
    const latency = this.window(1, nowMs).latency_ns;
    const us = (percentile: number) => {
      const ns = percentileNs(latency, percentile);
      return ns === null ? null : ns / 1000;
    };
    return {
      pps: perSecond(({ packets }) => packets),
      bps: perSecond(({ bytes }) => 8 * bytes),
      p50_us: us(50),
      p99_us: us(99),
    };
  }
}
