import type { SloAlert, SloBudget } from '@orrery/contract';
import { durationText } from '../../shared/format/time.js';

/** Over the last seconds; null: nothing was judged. */
export function burnOf(budget: SloBudget | null, windowS: number): number | null {
  return budget?.burn.find(({ window_s }) => window_s === windowS)?.rate ?? null;
}

/** `0.4 ×`: times as fast as the budget lasts. */
export function burnText(rate: number | null): string {
  if (rate === null) return '–';
  if (rate === 0) return '0 ×';
  return `${rate < 9.95 ? rate.toFixed(1) : rate.toFixed(0)} ×`;
}

/** `98.4 %, 7 h 5 min; 7 min 0 s used`: less than all is not told as all. A budget that is used up: `used up, 3 min 0 s over`. */
export function leftText({ left_share, left_s, bad_s }: SloBudget): string {
  if (left_s <= 0) return left_s === 0 ? 'used up' : `used up, ${durationText(-1000 * left_s)} over`;
  // 0.999 is a little less in binary.
  const percent = left_share >= 1 ? '100' : (Math.floor(1000 * left_share + 1e-6) / 10).toFixed(1);
  const used = bad_s > 0 ? `; ${durationText(1000 * bad_s)} used` : '';
  return `${percent} %, ${durationText(1000 * left_s)}${used}`;
}

/** With as many digits as tell a share from a goal of 99.99 %. */
export function complianceText(compliance: number | null): string {
  if (compliance === null) return '–';
  if (compliance === 1) return '100 %';
  const digits = compliance < 0.99 ? 1 : 3;
  // 0.999 is a little less in binary.
  const percent = Math.floor(100 * compliance * 10 ** digits + 1e-6) / 10 ** digits;
  return `${percent.toFixed(digits)} %`;
}

/** A goal as it was set: `99 %`, `99.95 %`. */
export function goalText(goal: number): string {
  return `${Number((100 * goal).toFixed(3))} %`;
}

/** `1 h`, `6 h`, `5 min`, `10 s`, `30 d` */
export function windowText(seconds: number): string {
  if (seconds % 86_400 === 0) return `${seconds / 86_400} d`;
  if (seconds % 3600 === 0) return `${seconds / 3600} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

/** `burned 20 × over 1 h and 80 × over 5 min` */
export function ruleText({ rule, burn_long, burn_short }: SloAlert): string {
  return `burned ${burnText(burn_long)} over ${windowText(rule.long_s)} and ${burnText(burn_short)} over ${windowText(rule.short_s)}`;
}
