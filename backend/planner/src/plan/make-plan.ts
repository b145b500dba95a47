import type { Plan } from '@orrery/contract';
import { requireTime } from '../budget.js';
import { type Draft, Infeasible } from './draft.js';
import { infeasible } from './infeasible.js';
import type { PlanInput } from './input.js';
import { keepImportant } from './keep-important.js';
import { type OfferedInput, offeredBy } from './offered.js';
import { parsedInput } from './parsed-input.js';
import { sizingsFor } from './sizings.js';
import { check } from './steps/check.js';
import { lowerGraph } from './steps/lowering.js';
import { formChains } from './steps/parallel-form.js';
import { placeNodes } from './steps/placement.js';
import { drawPolicyGraph } from './steps/policy-graph.js';
import { predictPlan } from './steps/prediction.js';
import { scheduleTasks } from './steps/schedule.js';
import { split } from './steps/sizing-and-split.js';
import { chooseWhereNfsRun } from './steps/where-nfs-run.js';
import { withSwitches } from './with-switches.js';

/**
 * Plans without side effects: a dry run shows the result and a deployment applies it. An infeasible plan names the shortages
 * or errors, keeps exactly what runs now, and has no steps. From `late` on the budget's time a plan omits what is not needed
 * to deploy it, and says so. Asked to leave out what does not fit, it keeps the most important chains. Errors: `BadProblem` for input that the contract does not allow or that is too large;
 * `OutOfTime` when the time is over before the plan is whole.
 */
export function makePlan(asked: PlanInput): Plan {
  const input = offeredBy(parsedInput(asked));
  return input.when_short === 'leave-out' ? keepImportant(input, made) : made(input);
}

function made(input: OfferedInput): Plan {
  try {
    return withSwitches(check(input), sizedForSomeClocks);
  } catch (error) {
    if (error instanceof Infeasible) return infeasible(input, error.found);
    throw error;
  }
}

/** The first feasible plan of all sizings; without any, what the last of them lacks. */
function sizedForSomeClocks(checked: Draft): Plan {
  let last: unknown;
  for (const clockOf of sizingsFor(checked.input)) {
    if (last) requireTime(checked.input.budget);
    try {
      return planned({ ...checked, clockOf });
    } catch (error) {
      if (!(error instanceof Infeasible)) throw error;
      last = error;
    }
  }
  throw last;
}

function planned(checked: Draft): Plan {
  const drawn = drawPolicyGraph(checked);
  const assigned = chooseWhereNfsRun(drawn);
  const formed = formChains(assigned);
  const sized = split(formed);
  const placed = placeNodes(sized);
  const scheduled = scheduleTasks(placed);
  const lowered = lowerGraph(scheduled);
  return predictPlan(lowered);
}
