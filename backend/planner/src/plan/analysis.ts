import type { Plan, PlannedPipeline, PlanOptions, Quality } from '@orrery/contract';
import type { Assignment } from '../accelerator/assignment.js';
import { type InfrastructureInput, infrastructureReasons } from '../accelerator/infrastructure-reasons.js';
import { flowWay } from '../chaining/flow-ways.js';
import { linearChains, parallelForm } from '../parallel/parallel-forms.js';
import { slowestGhz } from '../pipeline/clock.js';
import { MAX_PATHS, type Path, pathsOf } from '../pipeline/paths.js';
import type { PlacementBound } from '../placement/bound.js';
import { chooseOffloads } from '../placement/offload.js';
import { scheduleForm } from '../schedule/schedule-forms.js';
import { classForecasts, classRate } from '../slo/class-forecasts.js';
import type { PlacedInput } from '../slo/placed.js';
import { predictSlos } from '../slo/predict.js';
import { Attempts } from './attempts.js';

type Analysis = Pick<Plan, 'quality' | 'classes' | 'parallel' | 'schedules' | 'offloads' | 'slos' | 'reasons'>;

/** What a placed plan is worth: predictions, parallel forms, schedules, and how far each answer can be from the best. */
export function analyse(
  input: PlacedInput & InfrastructureInput,
  assignment: Assignment,
  options: PlanOptions,
  entries_used: number,
  expired: () => boolean = () => false,
): Analysis {
  const attempts = new Attempts(expired);
  const { classes, quality, reasons } = classesWithWays(input, options, attempts);
  const rateOf = (pipeline: PlannedPipeline, path: Path) => classRate(input.pgraph, pipeline, path);
  const schedules = input.pipelines.flatMap((pipeline) => {
    const { scheduling: strategy, scheduling_mode: mode } = options;
    const found = attempts.run('scheduling', pipeline.pipeline_id, () =>
      scheduleForm({ ...input, rateOf, strategy, mode, expired }, pipeline),
    );
    return found ? [found] : [];
  });
  const parallel = parallelForms(input, options, rateOf, expired, attempts);
  const infrastructure =
    attempts.run('infrastructure', 'infrastructure', () => infrastructureReasons(input, assignment)) ?? [];
  const { offloads, reasons: offloadReasons } = chooseOffloads({ ...input, entries_used });
  return {
    quality: [...quality, ...[...parallel, ...schedules].flatMap((it) => it.quality)],
    classes,
    parallel: parallel.map(({ form }) => form),
    schedules: schedules.map(({ form }) => form),
    offloads,
    slos: predictSlos(input),
    reasons: [...infrastructure, ...reasons, ...offloadReasons, ...attempts.reasons],
  };
}

function classesWithWays(input: PlacedInput, { chaining, seed }: PlanOptions, attempts: Attempts) {
  const quality: Quality[] = [];
  const reasons: Plan['reasons'] = [];
  const classes = classForecasts(input, (pipeline, path) => {
    const flow = attempts.run('chaining', path.id, () => flowWay(input, pipeline, path, { strategy: chaining, seed }));
    if (flow?.quality) quality.push(flow.quality);
    if (flow?.reason) reasons.push(flow.reason);
    return flow?.way ?? null;
  });
  for (const { pipeline_id, definition } of input.pipelines) {
    if (pathsOf(definition) === null)
      attempts.leaveOut(
        'chaining',
        pipeline_id,
        `The chain has more than ${MAX_PATHS} ways, which are not told apart.`,
      );
  }
  return { classes, quality, reasons };
}

function parallelForms(
  input: PlacedInput,
  { parallelization: strategy, seed }: PlanOptions,
  rateOf: (pipeline: PlannedPipeline, path: Path) => number,
  expired: () => boolean,
  attempts: Attempts,
) {
  const ghz = slowestGhz(input.infrastructure);
  const known = new Map();
  return input.pipelines.flatMap((pipeline) =>
    linearChains(pipeline).flatMap((path) => {
      const found = attempts.run('parallelization', path.id, () =>
        parallelForm({ ...input, ghz, rateOf, strategy, seed, expired, known }, pipeline, path),
      );
      return found ? [found] : [];
    }),
  );
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
