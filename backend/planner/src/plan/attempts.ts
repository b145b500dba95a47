import type { Plan, PlanPart } from '@orrery/contract';
import { BadProblem } from '../bad-problem.js';

/** Runs optional parts of the analysis, whose failure does not fail the plan; omissions are listed among the reasons. */
export class Attempts {
  readonly reasons: Plan['reasons'] = [];

  constructor(private readonly expired: () => boolean) {}

  /** `null` if the part is too large for its methods, or the time limit of the plan has passed. */
  run<T>(part: PlanPart, subject: string, make: () => T): T | null {
    if (this.expired()) return this.leaveOut(part, subject, 'The planning time ran out before this part.');
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
