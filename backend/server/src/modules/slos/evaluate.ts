import { type Origin, type Plan, percentileNs, type Slo, type SloStatus } from '@orrery/contract';
import type { Carriage } from '../../ports/data-path.js';
import type { ExitWindow } from '../../ports/telemetry.js';
import { type WarmUp, WHY_SPENT } from './warm-ups.js';

export const WINDOW_S = 10;
/** Availability is judged over this window: long enough for the skew of counters not to look like an outage. */
export const AVAILABILITY_WINDOW_S = 3;
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
  /** Whether what runs is too new to be judged. */
  readonly warmUp: WarmUp;
  readonly prediction: Plan['slos'][number] | undefined;
  /** An agent that measures the chain is away. */
  readonly stale: boolean;
  readonly origin: Origin;
  readonly nowMs: number;
}

/**
 * Current status of an objective. All but a latency are judged by what is carried of what is offered: a chain is not to blame for
 * clients that send little, and nothing tells whether it is to blame while the switches that count what they send are silent: such
 * an objective is `stale` unless a throughput reaches its target. So is every objective if nothing leaves the chain either.
 * `no-data` without packets, except where packets are offered and lost: that is judged at once, everything else when the chain has
 * carried packets for a while, or has changed too often to be waited for.
 */
export function evaluateSlo(slo: Slo, context: SloContext): SloStatus {
  const { window, blackout } = context;
  const byCarriage = slo.kind !== 'latency';
  const isUnknown = context.carriage === 'unknown';
  const mayBeLost = isUnknown && !context.delivers;
  const carriage = byCarriage && context.carriage !== 'unknown' ? context.carriage : null;
  const measured = measure(slo, context);
  const { target, unit } = aimOf(slo);
  const state =
    (mayBeLost || (isUnknown && isShareOfOffered(slo))) && !blackout
      ? 'stale'
      : stateOf(context, slo, measured, isMet(slo, measured, context.carriage));
  return {
    chain_id: context.chainId,
    slo_id: slo.id,
    kind: slo.kind,
    state,
    target,
    measured,
    predicted: context.prediction?.predicted ?? null,
    band: context.prediction?.band ?? null,
    error: slo.kind === 'latency' ? signedError(measured, context.prediction?.predicted ?? null) : null,
    budget: null,
    offered: carriage?.offered_bps ?? null,
    carried: blackout && carriage ? 0 : (carriage?.share ?? null),
    unit,
    ...(state === 'violated' && context.warmUp === 'spent' ? { cause: WHY_SPENT } : {}),
    window_s: windowOf(slo),
    packets: window?.packets ?? 0,
    origin: window?.origin ?? context.origin,
    t_ms: context.nowMs,
  };
}

/** How much more than predicted was measured, as a share of the prediction; null where nothing can be compared. */
export function signedError(measured: number | null, predicted: number | null): number | null {
  return measured === null || predicted === null || predicted === 0 ? null : measured / predicted - 1;
}

/** Seconds over which the objective is measured. */
export function windowOf({ kind }: Pick<Slo, 'kind'>): number {
  return kind === 'availability' ? AVAILABILITY_WINDOW_S : WINDOW_S;
}

const isShareOfOffered = ({ kind }: Slo) => kind === 'loss' || kind === 'availability';

export function aimOf(slo: Slo): { readonly target: number; readonly unit: SloStatus['unit'] } {
  if (slo.kind === 'latency') return { target: slo.max_us, unit: 'us' };
  if (slo.kind === 'throughput') return { target: slo.min_bps, unit: 'bps' };
  return { target: slo.kind === 'loss' ? slo.max_share : slo.min_share, unit: 'share' };
}

/** Null if it cannot be told now. */
function isMet(slo: Slo, measured: number | null, carriage: SloContext['carriage']): boolean | null {
  const { target } = aimOf(slo);
  const isLimit = slo.kind === 'latency' || slo.kind === 'loss';
  if (measured !== null && (isLimit ? measured <= target : measured >= target)) return true;
  if (slo.kind !== 'throughput') return false;
  return carriage === 'unknown' ? null : carriage !== null && carriage.share >= 1 - LOSS_TOLERANCE;
}

/** `met`: null if it cannot be told now. */
function stateOf(
  { stale, blackout, carriage, warmUp }: SloContext,
  slo: Slo,
  measured: number | null,
  met: boolean | null,
): SloStatus['state'] {
  if (stale) return 'stale';
  if (blackout && (carriage !== null || !isShareOfOffered(slo))) return 'violated';
  if (measured === null) return 'no-data';
  const losesAll = carriage !== 'unknown' && carriage?.share === 0;
  if (!losesAll && warmUp === 'on') return 'warming-up';
  if (met === null) return 'stale';
  return met ? 'met' : 'violated';
}

function measure(slo: Slo, { window, carriage, blackout }: SloContext): number | null {
  if (isShareOfOffered(slo)) {
    if (carriage === null) return null;
    if (blackout) return slo.kind === 'loss' ? 1 : 0;
    if (carriage === 'unknown') return null;
    return slo.kind === 'loss' ? lostShare(carriage) : carriage.share;
  }
  if (blackout || !window) return null;
  if (slo.kind === 'throughput') {
    const idle = window.packets === 0 && carriage === null;
    return idle || window.covered_s < LEAST_COVER_S ? null : (8 * window.bytes) / window.covered_s;
  }
  const ns = window.packets > 0 && slo.kind === 'latency' ? percentileNs(window.latency_ns, slo.percentile) : null;
  return ns === null ? null : ns / 1000;
}

/** What is counted where it is lost, and what is missing at the exits beyond that where it is more than the skew of the counters. */
function lostShare({ share, lost_share }: Carriage): number {
  const missing = 1 - share;
  return missing - lost_share > LOSS_TOLERANCE ? missing : lost_share;
}
