import type { Plan, PlanPart } from '@orrery/contract';
import { BadProblem } from '../bad-problem.js';
import { type Budget, isLate, OutOfTime } from '../budget.js';

const OUT_OF_TIME = 'The planning time ran out before this part.';

/** Runs optional parts of the analysis, whose failure does not fail the plan; omissions are listed among the reasons. */
export class Attempts {
  readonly reasons: Plan['reasons'] = [];

  constructor(private readonly time: Omit<Budget, 'steps'>) {}

  /** `null` if the part is too large for its methods, or it is late. */
  run<T>(part: PlanPart, subject: string, make: () => T): T | null {
    if (isLate(this.time)) return this.leaveOut(part, subject, OUT_OF_TIME);
    try {
      return make();
    } catch (error) {
      if (error instanceof OutOfTime) return this.leaveOut(part, subject, OUT_OF_TIME);
      if (!(error instanceof BadProblem)) throw error;
      return this.leaveOut(part, subject, `It is too large: ${error.message}.`);
    }
  }

  leaveOut(part: PlanPart, subject: string, because: string): null {
    this.reasons.push({ part, subject, decision: 'left out', because, candidates: [], constraint: null });
    return null;
  }
}
