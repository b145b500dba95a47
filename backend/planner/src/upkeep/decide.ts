import type { BetterPlan, UpkeepComparison } from './compare.js';
import type { PlacementFigures } from './figures.js';

export interface UpkeepRules {
  /** Of the traffic between servers. */
  readonly min_gain_percent: number;
  readonly min_gain_bps: number;
  /** How long a better plan must have been there without a break. */
  readonly hold_s: number;
}

/** What a change of places brings; positive is better. */
export interface UpkeepGain {
  readonly cross_traffic_bps: number;
  /** Of the traffic between servers now; 0 where there is none. */
  readonly cross_traffic_percent: number;
  readonly cores: number;
  /** Cores that have less than plans hand out again. */
  readonly overloaded_cores: number;
  /** Objectives that are no longer predicted to be missed. */
  readonly objectives: number;
}

/** What is remembered between two looks, and forgotten when what runs changes; times by a monotonic clock. */
export interface UpkeepMemory {
  /** Since when each look has found a better plan; null: the last one found none. */
  readonly betterSinceMs: number | null;
}

export const NO_UPKEEP_MEMORY: UpkeepMemory = { betterSinceMs: null };

type Judged = Pick<UpkeepComparison, 'before' | 'why'> & { readonly better: Pick<BetterPlan, 'after'> | null };

export interface UpkeepDecision {
  readonly verdict: 'keep' | 'advise';
  readonly why: string;
  /** Null: there is no better plan. */
  readonly gain: UpkeepGain | null;
  readonly memory: UpkeepMemory;
  /** Until when it has to be looked at again though nothing changes; null: no need. */
  readonly dueMs: number | null;
}

export function gainOf(before: PlacementFigures, after: PlacementFigures): UpkeepGain {
  const cross_traffic_bps = before.cross_traffic_bps - after.cross_traffic_bps;
  return {
    cross_traffic_bps,
    cross_traffic_percent: before.cross_traffic_bps > 0 ? (100 * cross_traffic_bps) / before.cross_traffic_bps : 0,
    cores: before.cores - after.cores,
    overloaded_cores: before.overloaded.length - after.overloaded.length,
    objectives: before.missed.length - after.missed.length,
  };
}

/**
 * Whether a better plan is advised. Objectives count first, then cores with too much on them, then the traffic between servers, which
 * alone has to be less by the limits. A plan that misses an objective that is met now is not better. It must have been there at each
 * look for `hold_s`.
 */
export function decideUpkeep(
  rules: UpkeepRules,
  { better, before, why }: Judged,
  memory: UpkeepMemory,
  nowMs: number,
): UpkeepDecision {
  const keep = (because: string, gain: UpkeepGain | null): UpkeepDecision => ({
    verdict: 'keep',
    why: because,
    gain,
    memory: NO_UPKEEP_MEMORY,
    dueMs: null,
  });
  if (!better) return keep(why ?? 'There is nothing better.', null);
  const gain = gainOf(before, better.after);
  const reason = reasonOf(rules, before, better.after, gain);
  if (!reason.isBetter) return keep(reason.text, gain);
  const betterSinceMs = memory.betterSinceMs ?? nowMs;
  const dueMs = betterSinceMs + 1000 * rules.hold_s;
  const next = { betterSinceMs };
  if (nowMs >= dueMs) return { verdict: 'advise', why: reason.text, gain, memory: next, dueMs: null };
  return { verdict: 'keep', why: `${reason.text}, but not for ${rules.hold_s} s`, gain, memory: next, dueMs };
}

function reasonOf(
  { min_gain_percent, min_gain_bps }: UpkeepRules,
  before: PlacementFigures,
  after: PlacementFigures,
  gain: UpkeepGain,
): { readonly isBetter: boolean; readonly text: string } {
  const met = after.missed.find((objective) => !before.missed.includes(objective));
  const is = (isBetter: boolean, text: string) => ({ isBetter, text });
  if (met !== undefined) return is(false, `The objective ${met} would be missed`);
  if (gain.objectives > 0) return is(true, `${count(gain.objectives, 'objective')} would be met again`);
  if (gain.overloaded_cores < 0) return is(false, 'More cores would have too much to do');
  if (gain.overloaded_cores > 0)
    return is(true, `${count(gain.overloaded_cores, 'core')} would no longer have too much to do`);
  const isEnough = gain.cross_traffic_percent >= min_gain_percent && gain.cross_traffic_bps >= min_gain_bps;
  const percent = Math.max(0, gain.cross_traffic_percent).toFixed(0);
  return isEnough
    ? is(true, `${percent} % less traffic between servers`)
    : is(false, `Another placement would save ${percent} % of the traffic between servers, which is too little`);
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
