import type { Limits } from './solver/linear-model.js';

/**
 * Limits of work, in both ways at once. `steps` bounds the search in it and is deterministic, about a microsecond of work
 * each unless a function says otherwise. The other two are the caller's clock, and each stays `true` once it is: `expired`
 * ends the work, so that no request exceeds its time limit, with `OutOfTime` where there is no answer yet; from `late` on,
 * absent as late as `expired`, the work leaves out what only makes its answer better.
 */
export interface Budget {
  readonly steps: number;
  readonly expired?: (() => boolean) | undefined;
  readonly late?: (() => boolean) | undefined;
}

/**
 * A budget that can also be told how much time is left: the caller of a solver must say in advance how long that may
 * take. `expired` is `true` once nothing is left.
 */
export interface TimedBudget extends Budget {
  readonly left_s: () => number;
}

export function timedBudget(steps: number, left_s: () => number): TimedBudget {
  return { steps, left_s, expired: () => left_s() <= 0 };
}

/** So much of the time that is left now, and all steps. */
export function shareOf(budget: TimedBudget, share: number): TimedBudget {
  const kept_s = (1 - share) * budget.left_s();
  return timedBudget(budget.steps, () => budget.left_s() - kept_s);
}

/** The limit of a call of a solver that may take this share of what is left; `null`: nothing is left. */
export function solverLimits({ left_s }: TimedBudget, share = 1): Limits | null {
  const time_limit_s = share * left_s();
  return time_limit_s > 0 ? { time_limit_s } : null;
}

/** Thrown where the time is over before there is an answer. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime';

  constructor() {
    super('the time limit did not suffice');
  }
}

/** Asks the clock before a part of the work without which there is no answer. Errors: `OutOfTime`. */
export function requireTime({ expired }: Pick<Budget, 'expired'>): void {
  if (expired?.()) throw new OutOfTime();
}

/** Whether what only makes the answer better is left out from now on. */
export function isLate({ late, expired }: Omit<Budget, 'steps'>): boolean {
  return (late?.() ?? false) || (expired?.() ?? false);
}

/** The part of a budget for what only makes the answer better. */
export function improving(budget: Budget): Budget {
  return { steps: budget.steps, expired: () => isLate(budget) };
}

/** What there was time for; `null`: there was none. */
export function inTime<T>(make: () => T): T | null {
  try {
    return make();
  } catch (error) {
    if (error instanceof OutOfTime) return null;
    throw error;
  }
}

/** Steps between two looks at the clock. */
const STEPS_A_LOOK = 1024;

/** What is left of a budget while its work is done. */
export class Spending {
  private left: number;
  private sinceLook = 0;
  private over = false;

  constructor(private readonly budget: Budget) {
    this.left = budget.steps;
  }

  /** `false` once steps or time are over, from then on always. */
  spend(steps = 1): boolean {
    this.left -= steps;
    this.sinceLook += steps;
    if (this.left < 0) this.over = true;
    else if (this.sinceLook >= STEPS_A_LOOK) {
      this.sinceLook = 0;
      this.over ||= this.budget.expired?.() ?? false;
    }
    return !this.over;
  }

  get isOver(): boolean {
    return this.over;
  }

  /** At most this part of the whole budget, of what is left; what it spends is spent of the whole. */
  part(share: number): Spending {
    const steps = Math.max(0, Math.min(this.left, share * this.budget.steps));
    return new PartSpending({ ...this.budget, steps }, this);
  }
}

class PartSpending extends Spending {
  constructor(
    budget: Budget,
    private readonly whole: Spending,
  ) {
    super(budget);
  }

  override spend(steps = 1): boolean {
    const whole = this.whole.spend(steps);
    return super.spend(steps) && whole;
  }
}
