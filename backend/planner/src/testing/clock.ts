import { type TimedBudget, timedBudget } from '../budget.js';

/** A clock of which the n-th question and all after it are too late. */
export class Clock {
  asked = 0;

  constructor(private readonly over = Number.POSITIVE_INFINITY) {}

  readonly expired = (): boolean => ++this.asked >= this.over;

  /** Whether it ever said so. */
  get saidLate(): boolean {
    return this.asked >= this.over;
  }

  /** Questions after the first that was too late: each stands for a bounded piece of work. */
  get askedInVain(): number {
    return Math.max(0, this.asked - this.over);
  }
}

/** A budget of which the time never ends; each call of a solver may take so long. */
export function unhurried(steps: number, left_s = 20): TimedBudget {
  return timedBudget(steps, () => left_s);
}

/** A budget of which the time ends when the clock says so. */
export function timedBy({ expired }: Clock, steps: number): TimedBudget {
  return timedBudget(steps, () => (expired() ? 0 : 20));
}

/** Numbers from 1 to the last: all of the first few, then ever fewer. */
export function moments(last: number): number[] {
  const found: number[] = [];
  for (let n = 1; n <= last; n = n < 16 ? n + 1 : Math.ceil(n * 1.15)) found.push(n);
  return found.at(-1) === last ? found : [...found, last];
}
