import { parentPort, workerData } from 'node:worker_threads';
import { type CertifyInput, certifyPlan } from '@orrery/planner/certify-plan';
import { solveWithHighs } from '@orrery/planner/solver/highs';
import loadHighs, { type Highs } from 'highs';

export interface CertifyJob {
  readonly input: CertifyInput;
  readonly time_limit_s: number;
}

const { input, time_limit_s } = workerData as CertifyJob;
/** The package declares the types of its CommonJS build for its ES module too. */
const load = loadHighs as unknown as () => Promise<Highs>;
const highs = await load();
const started = performance.now();
const elapsed_s = () => (performance.now() - started) / 1000;
const quality = await certifyPlan(input, async (model, limits) => solveWithHighs(highs, model, limits), {
  time_limit_s,
  elapsed_s,
});
parentPort!.postMessage(quality);
