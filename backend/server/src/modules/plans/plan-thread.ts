import { BadProblem, compareWithBest, Memo, makePlan, OutOfTime, type PlanInput } from '@orrery/planner';
import { serveJobs } from '../../platform/worker-thread/serve-jobs.js';
import { KeptValues, NotKept } from '../../platform/worker-thread/shared-values.js';
import type { CompareLimits, PlacementComparison } from '../../ports/plan-store.js';
import { receivedInput, type SentInput } from './plan-job.js';

export interface PlanJob {
  readonly input: SentInput;
  /** Steps of the placement search. */
  readonly search_steps: number;
  /** After this time a plan omits what is not needed to deploy it, and says so. */
  readonly late_ms: number;
  /** After this time there is no plan. */
  readonly limit_ms: number;
  /** What runs is compared with the best plan; absent: the input is planned. */
  readonly compare?: CompareLimits;
}

/** The plan as JSON, or why there is none. */
export type PlanJobResult =
  | { readonly plan: string }
  | { readonly comparison: PlacementComparison }
  /** The field that makes planning impossible. */
  | { readonly field: string; readonly detail: string }
  | { readonly failed: 'out-of-time' }
  /** The thread does not have what the job only names. */
  | { readonly failed: 'not-kept' };

/** Results of parts of a plan that are remembered, some kB each. */
const MOST_REMEMBERED = 5000;
const memo = new Memo(MOST_REMEMBERED);
/** Of plans and of comparisons, which plans overtake. */
const kept = { plans: new KeptValues(), comparisons: new KeptValues() };

serveJobs(({ input, search_steps, late_ms, limit_ms, compare }: PlanJob): PlanJobResult => {
  const started = performance.now();
  const after = (ms: number) => () => performance.now() - started > ms;
  const budget = { steps: search_steps, late: after(late_ms), expired: after(limit_ms) };
  try {
    const planned = { ...receivedInput(input, compare ? kept.comparisons : kept.plans), budget, memo };
    if (compare) return { comparison: compared(planned, compare) };
    const plan = JSON.stringify(makePlan(planned));
    // What comes next is planned on top of it.
    kept.plans.keep('base', planned.id, JSON.parse(plan) as object);
    return { plan };
  } catch (error) {
    if (error instanceof NotKept) return { failed: 'not-kept' };
    if (error instanceof OutOfTime) return { failed: 'out-of-time' };
    if (!(error instanceof BadProblem)) throw error;
    return { field: error.field, detail: error.detail };
  }
});

/** The better plan itself stays in the thread: it is made anew where it is to be shown. */
function compared(input: PlanInput, limits: CompareLimits): PlacementComparison {
  const { better, ...found } = compareWithBest({ input, ...limits });
  if (!better) return { ...found, better };
  const { plan, ...rest } = better;
  const states_lost = plan.problems.filter(({ code }) => code === 'flow-state-lost').length;
  return { ...found, better: { ...rest, states_moved: plan.migrations.length, states_lost } };
}
