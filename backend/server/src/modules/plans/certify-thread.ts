import { CERTIFY_STEPS, type CertifyInput, certifyPlan, solveWithHighs, timedBudget } from '@orrery/planner';
import loadHighs, { type Highs } from 'highs';
import { serveJobs } from '../../platform/worker-thread/serve-jobs.js';

export interface CertifyJob {
  readonly input: CertifyInput;
  readonly time_limit_s: number;
}

/** The package declares the types of its CommonJS build for its ES module, too. */
const load = loadHighs as unknown as () => Promise<Highs>;
const highs = load();

serveJobs(async ({ input, time_limit_s }: CertifyJob) => {
  const solver = await highs;
  const end_ms = performance.now() + 1000 * time_limit_s;
  const budget = timedBudget(CERTIFY_STEPS, () => (end_ms - performance.now()) / 1000);
  return certifyPlan(input, async (model, limits) => solveWithHighs(solver, model, limits), budget);
});
