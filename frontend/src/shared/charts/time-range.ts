import { useEffect, useState } from 'react';
import { serverNow } from '../api/server-clock.js';

/** Moments in seconds since the Unix epoch. */
export interface TimeRange {
  readonly from_s: number;
  readonly to_s: number;
}

const TICK_MS = 250;
const STILL_TICK_MS = 1000;

/** The last `windowS` seconds until now by the server's clock, moving on; in steps of a second with reduced motion. */
export function useRecentRange(windowS: number): TimeRange {
  const [to, setTo] = useState(() => serverNow() / 1000);
  useEffect(() => {
    const still = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    const timer = setInterval(() => setTo(serverNow() / 1000), still ? STILL_TICK_MS : TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return { from_s: to - windowS, to_s: to };
}

/** Part of the range at a moment, from 0 to 1. */
export function shareOf({ from_s, to_s }: TimeRange, t_ms: number): number {
  return Math.min(1, Math.max(0, (t_ms / 1000 - from_s) / (to_s - from_s)));
}
