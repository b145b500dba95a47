import type { Plan, PlanPart } from '@orrery/contract';
import { BadProblem } from '../bad-problem.js';

/** Runs parts of an analysis that are not worth losing a sound plan for: what is left out is said among the reasons. */
export class Attempts {
  readonly reasons: Plan['reasons'] = [];

  constructor(private readonly expired: () => boolean) {}

  /** `null` where the part is too large for its methods, or the plan's time is over. */
  run<T>(part: PlanPart, subject: string, make: () => T): T | null {
    if (this.expired()) return this.leaveOut(part, subject, 'The time for the plan was over before its turn came.');
    try {
      return make();
    } catch (error) {
      if (!(error instanceof BadProblem)) throw error;
      return this.leaveOut(part, subject, `It is too large: ${error.message}.`);
    }
  }

  leaveOut(part: PlanPart, subject: string, because: string): null {
    this.reasons.push({ part, subject, decision: 'left out', because, candidates: [], constraint: null });
    return null;
  }
}
