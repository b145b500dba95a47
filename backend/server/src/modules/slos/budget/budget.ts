import type { SloBudget } from '@orrery/contract';
import type { Judged } from './bucket-ring.js';
import type { SecondsHistory } from './seconds-history.js';

/** Windows whose burn rates are told. */
export const BURN_WINDOWS_S = [60, 300, 3600, 21_600] as const;

export interface Terms {
  readonly goal: number;
  readonly period_s: number;
  /** Since when seconds are counted. */
  readonly since_ms: number;
}

/** Share of the judged seconds that were bad, over the share that may be: at 1, the budget lasts just as long as its period. */
export function burnRate({ good_s, bad_s }: Judged, goal: number): number | null {
  const judged = good_s + bad_s;
  return judged > 0 ? bad_s / judged / (1 - goal) : null;
}

/** What an objective may still be missed for. Seconds that nobody judged are neither good nor bad: they cost nothing. */
export function budgetOf(history: SecondsHistory, { goal, period_s, since_ms }: Terms, nowMs: number): SloBudget {
  const { good_s, bad_s } = history.overPeriod(nowMs);
  const allowed_s = (1 - goal) * period_s;
  const counted_s = Math.min(period_s, Math.max(0, nowMs - since_ms) / 1000);
  return {
    goal,
    period_s,
    since_ms,
    good_s,
    bad_s,
    unknown_s: Math.max(0, counted_s - good_s - bad_s),
    compliance: good_s + bad_s > 0 ? good_s / (good_s + bad_s) : null,
    left_s: allowed_s - bad_s,
    left_share: 1 - bad_s / allowed_s,
    burn: BURN_WINDOWS_S.map((window_s) => ({ window_s, rate: burnRate(history.over(window_s, nowMs), goal) })),
  };
}
