import type { Plan, PlannedChain, PlanOptions, Quality } from '@orrery/contract';
import type { Assignment } from '../accelerator/assignment.js';
import { type InfrastructureInput, infrastructureReasons } from '../accelerator/infrastructure-reasons.js';
import { flowWay } from '../chaining/flow-ways.js';
import type { AssignedImplementations } from '../check/assigned-implementation.js';
import { slowestGhz } from '../check/clock.js';
import { MAX_PATHS, type Path, pathsOf } from '../check/paths.js';
import { parallelForm } from '../parallel/parallel-forms.js';
import type { PlacementBound } from '../placement/bound.js';
import { chooseOffloads } from '../placement/offload.js';
import { scheduleForm } from '../schedule/schedule-forms.js';
import { classForecasts } from '../slo/class-forecasts.js';
import type { PlacedInput } from '../slo/placed.js';
import { predictSlos } from '../slo/predict.js';
import { analysedPaths, analysedRate } from './analysed-paths.js';
import { Attempts } from './attempts.js';
import type { ScheduledDraft } from './draft.js';

type Analysis = Pick<Plan, 'quality' | 'classes' | 'parallel' | 'schedules' | 'offloads' | 'slos' | 'reasons'>;

/** Analysis of a placed plan: predictions, parallel forms, schedules, and how far each result can be from the optimum. */
export function analyse(
  input: PlacedInput & InfrastructureInput,
  { unscheduled, schedules: found }: Pick<ScheduledDraft, 'unscheduled' | 'schedules'>,
  assignment: Assignment,
  options: PlanOptions,
  entries_used: number,
  expired: () => boolean = () => false,
): Analysis {
  const attempts = new Attempts(expired);
  const instances = { ...input, graph: unscheduled };
  const { classes, quality, reasons } = classesWithWays(input, instances, options, attempts);
  const schedules = found.map(scheduleForm);
  const parallel = parallelForms(input, assignment.implementations, options, expired, attempts);
  const infrastructure =
    attempts.run('infrastructure', 'infrastructure', () => infrastructureReasons(input, assignment)) ?? [];
  const { offloads, reasons: offloadReasons } = chooseOffloads({ ...instances, entries_used });
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

/** Routes are over instances; queues between them do not matter. */
function classesWithWays(
  input: PlacedInput,
  instances: PlacedInput,
  { chaining, seed }: PlanOptions,
  attempts: Attempts,
) {
  const quality: Quality[] = [];
  const reasons: Plan['reasons'] = [];
  const classes = classForecasts(input, (chain, path) => {
    const flow = attempts.run('chaining', path.id, () => flowWay(instances, chain, path, { strategy: chaining, seed }));
    if (flow?.quality) quality.push(flow.quality);
    if (flow?.reason) reasons.push(flow.reason);
    return flow?.way ?? null;
  });
  for (const { chain_id, definition } of input.chains) {
    if (pathsOf(definition) === null)
      attempts.leaveOut('chaining', chain_id, `The chain has more than ${MAX_PATHS} paths, too many to tell apart.`);
  }
  return { classes, quality, reasons };
}

function parallelForms(
  input: PlacedInput,
  implementations: AssignedImplementations,
  { parallelization: strategy, seed }: PlanOptions,
  expired: () => boolean,
  attempts: Attempts,
) {
  const ghz = slowestGhz(input.infrastructure);
  const rateOf = (chain: PlannedChain, path: Path) => analysedRate(input.pgraph, chain, path);
  const common = { ...input, implementations, ghz, rateOf, strategy, seed };
  const possible = { ...common, expired, known: new Map() };
  // Formed without a time limit, so that what is shown is what runs.
  const formed = { ...common, expired: () => false, known: new Map() };
  return input.chains.flatMap((chain) =>
    analysedPaths(input.pgraph, chain).flatMap((path) => {
      const found = attempts.run('parallelization', path.id, () =>
        parallelForm(chain.execution === 'parallel' ? formed : possible, chain, path),
      );
      return found ? [found] : [];
    }),
  );
}

/** How far the placement can be from the optimum. */
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
