import { unavailable } from '../../platform/problem.js';

/** Runs one piece of work at a time: what is urgent first, and of the same urgency in the order of arrival. */
export class Turns {
  private isTaken = false;
  private readonly urgent: (() => void)[] = [];
  private readonly others: (() => void)[] = [];

  /** `most`: of what is not urgent and waits. */
  constructor(private readonly most: number) {}

  /** Throws 503 if too many wait. */
  async run<T>(isUrgent: boolean, work: () => Promise<T>): Promise<T> {
    if (this.isTaken) {
      if (!isUrgent && this.others.length >= this.most) throw unavailable(`${this.most} calls wait for their turn.`);
      await new Promise<void>((resolve) => (isUrgent ? this.urgent : this.others).push(resolve));
    }
    this.isTaken = true;
    try {
      return await work();
    } finally {
      const next = this.urgent.shift() ?? this.others.shift();
      if (next) next();
      else this.isTaken = false;
    }
  }
}
