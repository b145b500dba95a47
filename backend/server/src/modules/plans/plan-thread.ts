import { BadProblem } from '@orrery/planner/bad-problem';
import { makePlan } from '@orrery/planner/plan';
import { serveJobs } from '../../platform/worker-thread/serve-jobs.js';

type PlanInput = Parameters<typeof makePlan>[0];

export interface PlanJob {
  readonly input: Omit<PlanInput, 'budget'>;
  /** Steps of the placement search. */
  readonly search_steps: number;
  /** After this time a plan omits what is not needed to deploy it, and says so. */
  readonly soft_limit_ms: number;
}

/** The plan as JSON, or the field that makes planning impossible. */
export type PlanJobResult = { readonly plan: string } | { readonly field: string; readonly detail: string };

serveJobs(({ input, search_steps, soft_limit_ms }: PlanJob): PlanJobResult => {
  const deadline = performance.now() + soft_limit_ms;
  try {
    const budget = { steps: search_steps, expired: () => performance.now() > deadline };
    return { plan: JSON.stringify(makePlan({ ...input, budget })) };
  } catch (error) {
    if (!(error instanceof BadProblem)) throw error;
    return { field: error.field, detail: error.detail };
  }
});
