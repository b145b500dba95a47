import type { Plan, PlannedChain, PlanOptions, Quality } from '@orrery/contract';
import type { Assignment } from '../accelerator/assignment.js';
import { type InfrastructureInput, infrastructureReasons } from '../accelerator/infrastructure-reasons.js';
import { type Budget, isLate } from '../budget.js';
import { flowWay } from '../chaining/flow-ways.js';
import type { AssignedImplementations } from '../check/assigned-implementation.js';
import type { ClockOf } from '../check/clock.js';
import { MAX_PATHS, type Path, pathsOf } from '../check/paths.js';
import type { AbilitiesOf } from '../lower/switch/lower-fabric.js';
import { copyingSwitches } from '../lower/switch-mirrors.js';
import { parallelForm } from '../parallel/parallel-forms.js';
import type { PlacementBound } from '../placement/bound.js';
import { chooseOffloads, type OffloadInput } from '../placement/offload.js';
import type { Recall } from '../recall.js';
import { scheduleForm } from '../schedule/schedule-forms.js';
import { leastPathUs } from '../slo/attainable.js';
import { classForecasts } from '../slo/class-forecasts.js';
import { latencyOf } from '../slo/latency.js';
import { NOT_CALIBRATED } from '../slo/overhead.js';
import type { PlacedInput } from '../slo/placed.js';
import { percentileUs, predictSlos } from '../slo/predict.js';
import { analysedPaths, analysedRate } from './analysed-paths.js';
import { Attempts } from './attempts.js';
import { chainNames, unplacedName } from './chain-parts.js';
import type { ScheduledDraft } from './draft.js';

type Analysis = Pick<Plan, 'quality' | 'classes' | 'parallel' | 'schedules' | 'offloads' | 'slos' | 'reasons'>;

/**
 * Analysis of a placed plan: predictions, parallel forms, schedules, and how far each result can be from the optimum.
 * Errors: `OutOfTime` when the time is over before all latencies and objectives are predicted.
 */
export function analyse(
  input: PlacedInput & InfrastructureInput,
  { unscheduled, schedules: found, clockOf }: Pick<ScheduledDraft, 'unscheduled' | 'schedules' | 'clockOf'>,
  assignment: Assignment,
  options: PlanOptions,
  onSwitches: Pick<OffloadInput, 'entries_used' | 'switches'>,
  recall: Recall,
  time: Omit<Budget, 'steps'> = {},
): Analysis {
  const attempts = new Attempts(time);
  const expired = () => isLate(time);
  const instances = { ...input, graph: unscheduled };
  const { classes, quality, reasons } = classesWithWays(input, instances, options, expired, attempts, recall);
  const { switches = new Map() } = onSwitches;
  const schedules = found.map((it) => recall.of('schedule form', recall.nameOf(it), () => scheduleForm(it)));
  const parallel = parallelForms(
    input,
    assignment.implementations,
    options,
    clockOf,
    switches,
    expired,
    attempts,
    recall,
  );
  const infrastructure =
    attempts.run('infrastructure', 'infrastructure', () => infrastructureReasons(input, assignment, recall)) ?? [];
  const { offloads, reasons: offloadReasons } =
    attempts.run('offload', 'offloads', () => chooseOffloads({ ...instances, ...onSwitches }, time)) ?? NO_OFFLOADS;
  return {
    quality: [...quality, ...[...parallel, ...schedules].flatMap((it) => it.quality)],
    classes,
    parallel: parallel.map(({ form }) => form),
    schedules: schedules.map(({ form }) => form),
    offloads,
    slos: predictSlos(input, time),
    reasons: [...infrastructure, ...reasons, ...offloadReasons, ...attempts.reasons],
  };
}

const NO_OFFLOADS = { offloads: [], reasons: [] };

/** Routes are over instances; queues between them do not matter. */
function classesWithWays(
  input: PlacedInput,
  instances: PlacedInput,
  { chaining, seed }: PlanOptions,
  expired: () => boolean,
  attempts: Attempts,
  recall: Recall,
) {
  const quality: Quality[] = [];
  const reasons: Plan['reasons'] = [];
  const nameOf = chainNames(recall, input.pgraph, input.graph);
  const calibration = recall.nameOf(input.calibration ?? NOT_CALIBRATED);
  const latencyFor = (chain: PlannedChain, path: Path) =>
    recall.of('latency', [nameOf(chain), path, calibration], () => {
      const latency = latencyOf(input, chain.chain_id, path);
      return {
        mean_us: latency.mean_us,
        p50_us: percentileUs(latency, 0.5),
        p99_us: percentileUs(latency, 0.99),
        least_us: leastPathUs(input, chain.chain_id, chain.definition, path.nodes),
      };
    });
  const classes = classForecasts(input, latencyFor, (chain, path) => {
    const flow = attempts.run('chaining', path.id, () =>
      recall.of('way', [nameOf(chain), path, calibration], () =>
        flowWay(instances, chain, path, { strategy: chaining, seed, expired }),
      ),
    );
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
  clockOf: ClockOf,
  switches: AbilitiesOf,
  expired: () => boolean,
  attempts: Attempts,
  recall: Recall,
) {
  const rateOf = (chain: PlannedChain, path: Path) => analysedRate(input.pgraph, chain, path);
  const calibration = recall.nameOf(input.calibration ?? NOT_CALIBRATED);
  const switch_mirrors = copyingSwitches(input.infrastructure, switches).length > 0;
  const common = { ...input, implementations, rateOf, strategy, seed, switch_mirrors };
  const possible = { ...common, expired, known: new Map(), recall };
  // Formed without a time limit, so that what is shown is what runs.
  const formed = { ...common, expired: () => false, known: new Map(), recall };
  return input.chains.flatMap((chain) => {
    const ghz = clockOf(chain.chain_id);
    const name = unplacedName(recall, input.pgraph, implementations, chain);
    return analysedPaths(input.pgraph, chain).flatMap((path) => {
      const found = attempts.run('parallelization', path.id, () =>
        recall.of('parallel', [name, path, ghz, calibration, switch_mirrors], () =>
          parallelForm({ ...(chain.execution === 'parallel' ? formed : possible), ghz }, chain, path),
        ),
      );
      return found ? [found] : [];
    });
  });
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
