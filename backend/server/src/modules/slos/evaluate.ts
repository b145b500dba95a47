import { type Origin, type Plan, percentileNs, type Slo, type SloStatus } from '@orrery/contract';
import type { ExitWindow } from '../../ports/telemetry.js';

export const WINDOW_S = 10;
/** A throughput is evaluated once this much of the window has been measured. */
const LEAST_COVER_S = 2;

export interface SloContext {
  readonly chainId: string;
  readonly window: ExitWindow | null;
  /** It loses every packet that is offered: what was measured before says nothing. */
  readonly blackout: boolean;
  readonly prediction: Plan['slos'][number] | undefined;
  /** An agent that measures the chain is away. */
  readonly stale: boolean;
  readonly origin: Origin;
  readonly nowMs: number;
}

/** Current status of an objective; `no-data` without packets, except where all are lost. */
export function evaluateSlo(slo: Slo, context: SloContext): SloStatus {
  const { window, blackout } = context;
  const measured = window && window.packets > 0 && !blackout ? measure(slo, window) : null;
  const target = slo.kind === 'latency' ? slo.max_us : slo.min_bps;
  const met = measured !== null && (slo.kind === 'latency' ? measured <= target : measured >= target);
  return {
    chain_id: context.chainId,
    slo_id: slo.id,
    kind: slo.kind,
    state: context.stale ? 'stale' : blackout ? 'violated' : measured === null ? 'no-data' : met ? 'met' : 'violated',
    target,
    measured,
    predicted: context.prediction?.predicted ?? null,
    unit: slo.kind === 'latency' ? 'us' : 'bps',
    window_s: WINDOW_S,
    packets: window?.packets ?? 0,
    origin: window?.origin ?? context.origin,
    t_ms: context.nowMs,
  };
}

function measure(slo: Slo, window: ExitWindow): number | null {
  if (slo.kind === 'throughput') return window.covered_s < LEAST_COVER_S ? null : (8 * window.bytes) / window.covered_s;
  const ns = percentileNs(window.latency_ns, slo.percentile);
  return ns === null ? null : ns / 1000;
}
