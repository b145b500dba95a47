import type { Carriage } from '../../ports/data-path.js';

/** Fewer packets may have been lost by chance, or are still on their way. */
const LEAST_PACKETS = 50;
/** Switches and exits are read up to half a second apart, which is this share of the long window. */
export const TOLERANCE = 0.05;
/** A loss that was told ends when this much gets through over the short window, or over the long one. */
const CARRIED_AGAIN = 0.98;
/** A change of the chain, or a burst, is over by then. */
const LASTS_MS = 5000;

/** A share that has been told is told anew when it has changed by this much. */
const TOLD_CHANGE = 0.1;

export const LONG_S = 10;
export const SHORT_S = 3;

/** Where packets of a chain are lost. */
export interface LossPlace {
  readonly id: string;
  readonly what: string;
}

/** A chain that loses some of its packets. */
export interface Loss {
  /** When it began; monotonic clock. */
  readonly sinceMs: number;
  /** Share of the offered packets that is lost, 0 to 1. */
  readonly share: number;
  /** Where most of it is lost; null: nothing tells. */
  readonly place: LossPlace | null;
}

type Measured = Carriage | 'unknown' | null;

/** The loss of a chain, from what it carried over the last `LONG_S` and `SHORT_S` seconds and what was found before; null: none. */
export function lossOf(before: Loss | null, long: Measured, short: Measured, nowMs: number): Loss | null {
  if (long === 'unknown' || short === 'unknown') return before;
  if (!long || !short || long.offered_packets < LEAST_PACKETS) return null;
  const best = Math.max(long.share, short.share);
  if (best >= (before && lasts(before, nowMs) ? CARRIED_AGAIN : 1 - TOLERANCE)) return null;
  const share = 1 - long.share;
  if (!before) return { sinceMs: nowMs, share, place: null };
  const isAsTold = lasts(before, nowMs) && Math.abs(share - before.share) < TOLD_CHANGE;
  return { ...before, share: isAsTold ? before.share : share };
}

/** Whether it has lasted long enough to be told. */
export function lasts({ sinceMs }: Loss, nowMs: number): boolean {
  return nowMs - sinceMs >= LASTS_MS;
}
