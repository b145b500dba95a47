import type { Plan } from '@orrery/contract';
import { Infeasible } from './draft.js';
import { infeasible } from './infeasible.js';
import type { PlanInput } from './input.js';
import { offeredBy } from './offered.js';
import { check } from './steps/check.js';
import { lowerGraph } from './steps/lowering.js';
import { formChains } from './steps/parallel-form.js';
import { placeNodes } from './steps/placement.js';
import { drawPolicyGraph } from './steps/policy-graph.js';
import { predictPlan } from './steps/prediction.js';
import { scheduleTasks } from './steps/schedule.js';
import { split } from './steps/sizing-and-split.js';
import { chooseWhereNfsRun } from './steps/where-nfs-run.js';

/**
 * Plans without side effects: a dry run shows the result and a deployment applies it. An infeasible plan names the shortages
 * or errors, keeps exactly what runs now, and has no steps.
 */
export function makePlan(asked: PlanInput): Plan {
  const input = offeredBy(asked);
  try {
    const checked = check(input);
    const drawn = drawPolicyGraph(checked);
    const assigned = chooseWhereNfsRun(drawn);
    const formed = formChains(assigned);
    const sized = split(formed);
    const placed = placeNodes(sized);
    const scheduled = scheduleTasks(placed);
    const lowered = lowerGraph(scheduled);
    return predictPlan(lowered);
  } catch (error) {
    if (error instanceof Infeasible) return infeasible(input, error.found);
    throw error;
  }
}
