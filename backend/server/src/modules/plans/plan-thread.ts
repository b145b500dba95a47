import { BadProblem, Memo, makePlan, OutOfTime } from '@orrery/planner';
import { serveJobs } from '../../platform/worker-thread/serve-jobs.js';
import { KeptValues, NotKept } from '../../platform/worker-thread/shared-values.js';
import { receivedInput, type SentInput } from './plan-job.js';

export interface PlanJob {
  readonly input: SentInput;
  /** Steps of the placement search. */
  readonly search_steps: number;
  /** After this time a plan omits what is not needed to deploy it, and says so. */
  readonly late_ms: number;
  /** After this time there is no plan. */
  readonly limit_ms: number;
}

/** The plan as JSON, or why there is none. */
export type PlanJobResult =
  | { readonly plan: string }
  /** The field that makes planning impossible. */
  | { readonly field: string; readonly detail: string }
  | { readonly failed: 'out-of-time' }
  /** The thread does not have what the job only names. */
  | { readonly failed: 'not-kept' };

/** Results of parts of a plan that are remembered, some kB each. */
const MOST_REMEMBERED = 5000;
const memo = new Memo(MOST_REMEMBERED);
const kept = new KeptValues();

serveJobs(({ input, search_steps, late_ms, limit_ms }: PlanJob): PlanJobResult => {
  const started = performance.now();
  const after = (ms: number) => () => performance.now() - started > ms;
  const budget = { steps: search_steps, late: after(late_ms), expired: after(limit_ms) };
  try {
    return { plan: JSON.stringify(makePlan({ ...receivedInput(input, kept), budget, memo })) };
  } catch (error) {
    if (error instanceof NotKept) return { failed: 'not-kept' };
    if (error instanceof OutOfTime) return { failed: 'out-of-time' };
    if (!(error instanceof BadProblem)) throw error;
    return { field: error.field, detail: error.detail };
  }
});
