import type { Plan, PlannedPipeline, PlanOptions, Quality } from '@orrery/contract';
import { infrastructureReasons } from '../accelerator/infrastructure-reasons.js';
import { flowWay } from '../chaining/flow-ways.js';
import { parallelForms } from '../parallel/parallel-forms.js';
import type { Path } from '../pipeline/paths.js';
import type { PlacementBound } from '../placement/bound.js';
import { chooseOffloads } from '../placement/offload.js';
import { scheduleForms } from '../schedule/schedule-forms.js';
import { classForecasts, classRate } from '../slo/class-forecasts.js';
import type { PlacedInput } from '../slo/placed.js';
import { predictSlos } from '../slo/predict.js';

type Analysis = Pick<Plan, 'quality' | 'classes' | 'parallel' | 'schedules' | 'offloads' | 'slos' | 'reasons'>;

/** What a placed plan is worth: predictions, parallel forms, schedules, and how far each answer can be from the best. */
export function analyse(input: PlacedInput, options: PlanOptions, entries_used: number): Analysis {
  const { seed } = options;
  const quality: Quality[] = [];
  const reasons: Plan['reasons'] = [];
  const classes = classForecasts(input, (pipeline, path) => {
    const flow = flowWay(input, pipeline, path, { strategy: options.chaining, seed });
    if (flow.quality) quality.push(flow.quality);
    if (flow.reason) reasons.push(flow.reason);
    return flow.way;
  });
  const ghz = Math.max(...input.infrastructure.servers.map((server) => server.ghz));
  const rateOf = (pipeline: PlannedPipeline, path: Path) => classRate(input.pgraph, pipeline, path);
  const parallel = parallelForms({ ...input, ghz, rateOf, strategy: options.parallelization, seed });
  const schedules = scheduleForms({
    ...input,
    rateOf,
    strategy: options.scheduling,
    mode: options.scheduling_mode,
  });
  const { offloads, reasons: offloadReasons } = chooseOffloads({ ...input, entries_used });
  return {
    quality: [...quality, ...parallel.quality, ...schedules.quality],
    classes,
    parallel: parallel.parallel,
    schedules: schedules.schedules,
    offloads,
    slos: predictSlos(input),
    reasons: [...infrastructureReasons(input), ...reasons, ...offloadReasons],
  };
}

/** How far the placement can be from the best there is. */
export function placementQuality(
  cut_bps: number,
  { lower_bound_bps, method }: PlacementBound,
  strategy: string,
): Quality {
  return {
    part: 'placement',
    subject: 'placement',
    objective: 'traffic between servers',
    unit: 'bps',
    value: cut_bps,
    bound: lower_bound_bps,
    gap: cut_bps > 0 ? Math.max(0, 1 - lower_bound_bps / cut_bps) : 0,
    optimal: lower_bound_bps >= cut_bps * (1 - 1e-9),
    method: strategy,
    proof: method,
  };
}
