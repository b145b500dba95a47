import { type Origin, type Plan, percentileNs, type Slo, type SloStatus } from '@orrery/contract';
import type { Carriage } from '../../ports/data-path.js';
import type { ExitWindow } from '../../ports/telemetry.js';

export const WINDOW_S = 10;
/** A throughput is evaluated once this much of the window has been measured. */
const LEAST_COVER_S = 2;
/**
 * A chain that carries all but this share of what is offered meets a throughput objective that the clients do not ask for in
 * full. Switches and exits are read up to half a second apart, which is this share of the window.
 */
export const LOSS_TOLERANCE = 0.05;

export interface SloContext {
  readonly chainId: string;
  readonly window: ExitWindow | null;
  /** What the switches let in, and how much of it got through; null: nothing, or not counted; unknown: they are silent. */
  readonly carriage: Carriage | 'unknown' | null;
  /** Packets have left it within the last seconds. */
  readonly delivers: boolean;
  /** It loses every packet that is offered: what was measured before says nothing. */
  readonly blackout: boolean;
  /** Time for which a chain carries packets before it is judged. */
  readonly warmUpMs: number;
  readonly prediction: Plan['slos'][number] | undefined;
  /** An agent that measures the chain is away. */
  readonly stale: boolean;
  readonly origin: Origin;
  readonly nowMs: number;
}

/**
 * Current status of an objective. A throughput is judged by what is carried of what is offered: a chain is not to blame for
 * clients that send little, and nothing tells whether it is to blame while the switches that count what they send are silent: it
 * is `stale` unless it reaches the target. So is every objective if nothing leaves the chain either. `no-data` without packets,
 * except where packets are offered and lost: that is judged at once, everything else when the chain has carried packets for a while.
 */
export function evaluateSlo(slo: Slo, context: SloContext): SloStatus {
  const { window, blackout } = context;
  const isUnknown = context.carriage === 'unknown';
  const mayBeLost = isUnknown && !context.delivers;
  const carriage = slo.kind === 'throughput' && context.carriage !== 'unknown' ? context.carriage : null;
  const measured = measure(slo, context);
  const target = slo.kind === 'latency' ? slo.max_us : slo.min_bps;
  const reached = measured !== null && (slo.kind === 'latency' ? measured <= target : measured >= target);
  const carries = carriage !== null && carriage.share >= 1 - LOSS_TOLERANCE;
  return {
    chain_id: context.chainId,
    slo_id: slo.id,
    kind: slo.kind,
    state:
      mayBeLost && !blackout
        ? 'stale'
        : stateOf(context, measured, reached || (isUnknown && slo.kind === 'throughput' ? null : carries)),
    target,
    measured,
    predicted: context.prediction?.predicted ?? null,
    band: context.prediction?.band ?? null,
    offered: carriage?.offered_bps ?? null,
    carried: blackout && carriage ? 0 : (carriage?.share ?? null),
    unit: slo.kind === 'latency' ? 'us' : 'bps',
    window_s: WINDOW_S,
    packets: window?.packets ?? 0,
    origin: window?.origin ?? context.origin,
    t_ms: context.nowMs,
  };
}

/** `met`: null if it cannot be told now. */
function stateOf(
  { stale, blackout, window, carriage, warmUpMs }: SloContext,
  measured: number | null,
  met: boolean | null,
): SloStatus['state'] {
  if (stale) return 'stale';
  if (blackout) return 'violated';
  if (measured === null) return 'no-data';
  const losesAll = carriage !== 'unknown' && carriage?.share === 0;
  if (!losesAll && window && 1000 * window.steady_s < warmUpMs) return 'warming-up';
  if (met === null) return 'stale';
  return met ? 'met' : 'violated';
}

function measure(slo: Slo, { window, carriage, blackout }: SloContext): number | null {
  if (blackout || !window) return null;
  if (slo.kind === 'throughput') {
    const idle = window.packets === 0 && carriage === null;
    return idle || window.covered_s < LEAST_COVER_S ? null : (8 * window.bytes) / window.covered_s;
  }
  const ns = window.packets > 0 ? percentileNs(window.latency_ns, slo.percentile) : null;
  return ns === null ? null : ns / 1000;
}
