import type { AlertRule } from '@orrery/contract';
import type { Judged } from './bucket-ring.js';
import { burnRate } from './budget.js';

/** Google SRE workbook, chapter 5, table 5-8: 2 % of a 30-day budget in an hour, 5 % in six hours. */
const LASTING: readonly AlertRule[] = [
  { long_s: 3600, short_s: 300, burn: 14.4, severity: 'error' },
  { long_s: 21_600, short_s: 1800, burn: 6, severity: 'warning' },
];
/** Experiments in the twin are over before the others fire. */
const BRIEF: AlertRule = { long_s: 60, short_s: 10, burn: 14.4, severity: 'warning' };

/** A rule fires when this much of its windows is bad, also where a goal is so low that its burn rate takes more. */
const MOST_SHARE = 0.9;
/** Seconds judged while the short window is below the rule's rate, at least, before an alert ends. */
const LEAST_CALM_S = 30;

export function rulesOf(origin: 'twin' | 'live'): readonly AlertRule[] {
  return origin === 'twin' ? [...LASTING, BRIEF] : LASTING;
}

/** Unique among the rules of an objective. */
export function ruleName({ long_s, short_s }: Pick<AlertRule, 'long_s' | 'short_s'>): string {
  return `${long_s}/${short_s}`;
}

/** How a rule stands now; rates are null where nothing was judged. */
export interface Burning {
  readonly long: number | null;
  readonly short: number | null;
  /** Both windows burn too fast. */
  readonly exceeds: boolean;
  /** The short window does not; false where nothing was judged in it. */
  readonly isCalm: boolean;
}

/** Precondition: the objective has judged seconds over `over`. A long window of which less than a short one is known says nothing. */
export function burning(
  { long_s, short_s, burn }: AlertRule,
  goal: number,
  over: (seconds: number) => Judged,
): Burning {
  const whole = over(long_s);
  const [long, short] = [burnRate(whole, goal), burnRate(over(short_s), goal)];
  const most = Math.min(burn, MOST_SHARE / (1 - goal));
  const isKnown = whole.good_s + whole.bad_s >= short_s;
  return {
    long,
    short,
    exceeds: isKnown && long !== null && short !== null && long >= most && short >= most,
    isCalm: short !== null && short < most,
  };
}

/** Whether the alert of one rule is open. It ends by seconds that were judged: those of which nobody knows do not count. */
export class AlertState {
  /** Judged seconds at the first moment of the calm. */
  private calmSince: number | null = null;

  constructor(
    private readonly rule: AlertRule,
    public isOpen: boolean,
  ) {}

  /** What happens now; the alert is open or not from then on. `judgedS`: all seconds of the objective that were judged so far. */
  take({ exceeds, isCalm, short }: Burning, judgedS: number): 'fires' | 'resolves' | null {
    if (!this.isOpen) {
      if (!exceeds) return null;
      this.isOpen = true;
      this.calmSince = null;
      return 'fires';
    }
    if (!isCalm) {
      // A window in which nothing was judged is neither calm nor the end of a calm.
      if (short !== null) this.calmSince = null;
      return null;
    }
    this.calmSince ??= judgedS;
    if (judgedS - this.calmSince < Math.max(LEAST_CALM_S, this.rule.short_s)) return null;
    this.isOpen = false;
    return 'resolves';
  }
}
