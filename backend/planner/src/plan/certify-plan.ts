import type { Infrastructure, NfDescriptor, Plan, PlannedPipeline, Quality } from '@orrery/contract';
import { buildSpg } from '../parallel/construction/build.js';
import { certifySpg } from '../parallel/construction/certify.js';
import { linearChains, SPG_STEPS, spgProblem } from '../parallel/parallel-forms.js';
import { boundPlacement } from '../placement/bound.js';
import { binsOf, problemOf } from '../placement/problem.js';
import { certifySchedule } from '../schedule/certify.js';
import { planSchedule } from '../schedule/plan-schedule.js';
import { SCHEDULE_STEPS, scheduleProblem } from '../schedule/schedule-forms.js';
import { classRate } from '../slo/class-forecasts.js';
import type { Solver } from '../solver/linear-model.js';
import { placementQuality } from './analysis.js';
import { sizedGraphs } from './graphs.js';

/** What the plan was made from. */
export interface CertifyInput {
  readonly plan: Plan;
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
}

export interface CertifyLimits {
  readonly time_limit_s: number;
  /** Whether the time that the bounds of the placement may take is over. */
  readonly expired: () => boolean;
}

/** `null` in place of figures: the plan was made from something else than what is given. */
export type PlanCertificateResult = readonly Quality[] | null;

const EXACT_STEPS = 50_000_000;
const SPECTRAL_STEPS = 200;

/**
 * The plan's figures of quality with bounds as tight as the time allows: a longer exact search and more eigenvalues for
 * the placement, the solver's independent proofs for parallel forms and schedules. A bound never gets looser.
 */
export async function certifyPlan(
  input: CertifyInput,
  solver: Solver,
  limits: CertifyLimits,
): Promise<PlanCertificateResult> {
  const { plan } = input;
  const { graph } = sizedGraphs({ ...input, pipelines: plan.pipelines });
  const same =
    plan.instances.length === graph.instances.length &&
    plan.instances.every(({ id }, i) => graph.instances[i]!.id === id);
  if (!plan.feasible || !same) return null;
  const proofs = plan.quality.filter(({ part }) => part !== 'placement' && part !== 'chaining').length;
  const each = { time_limit_s: limits.time_limit_s / 2 / Math.max(1, proofs) };
  const quality: Quality[] = [];
  for (const known of plan.quality) {
    const found =
      known.part === 'placement'
        ? placementProof(input, known, limits.expired)
        : known.part === 'parallelization'
          ? await parallelProof(input, known, solver, each)
          : known.part === 'scheduling'
            ? await scheduleProof(input, known, solver, each)
            : known;
    quality.push(found.bound > known.bound * (1 + 1e-9) || (found.optimal && !known.optimal) ? found : known);
  }
  return quality;
}

function placementProof(
  { plan, infrastructure, descriptors }: CertifyInput,
  known: Quality,
  expired: () => boolean,
): Quality {
  const { graph } = sizedGraphs({ pipelines: plan.pipelines, descriptors, infrastructure });
  const table = { fixed: 0, available: Number.MAX_SAFE_INTEGER, where: 'fabric' };
  const problem = problemOf(graph, binsOf(infrastructure), table, new Set());
  const effort = { exact: { steps: EXACT_STEPS, expired }, spectral: { steps: SPECTRAL_STEPS, expired } };
  return placementQuality(known.value, boundPlacement(problem, known.value, effort), known.method);
}

async function parallelProof(
  input: CertifyInput,
  known: Quality,
  solver: Solver,
  limits: { time_limit_s: number },
): Promise<Quality> {
  const at = chainOf(input.plan.pipelines, known.subject);
  if (!at) return known;
  const ghz = Math.max(...input.infrastructure.servers.map((server) => server.ghz));
  const { problem } = spgProblem({ ...input, ghz }, at.pipeline, at.path);
  const { parallelization: strategy, seed } = input.plan;
  const spg = buildSpg(problem, { strategy, seed, budget: { steps: SPG_STEPS } });
  const certificate = await certifySpg(problem, spg, solver, limits);
  if (certificate.contradictions.length > 0) return known;
  const bound = Math.min(known.value, Math.max(known.bound, certificate.critical_path_us));
  const gap = known.value > 0 ? 1 - bound / known.value : 0;
  return { ...known, bound, gap, optimal: known.optimal || gap < 1e-9, proof: 'critical path, proven by HiGHS' };
}

function chainOf(pipelines: readonly PlannedPipeline[], id: string) {
  for (const pipeline of pipelines) {
    const path = linearChains(pipeline).find((it) => it.id === id);
    if (path) return { pipeline, path };
  }
  return null;
}

async function scheduleProof(
  input: CertifyInput,
  known: Quality,
  solver: Solver,
  limits: { time_limit_s: number },
): Promise<Quality> {
  const { plan } = input;
  const pipeline = plan.pipelines.find(({ pipeline_id }) => pipeline_id === known.subject);
  const { scheduling: strategy, scheduling_mode: mode } = plan;
  const rateOf: Parameters<typeof scheduleProblem>[0]['rateOf'] = (it, path) => classRate(plan.pgraph, it, path);
  const named = pipeline && scheduleProblem({ ...input, ...plan, rateOf, strategy, mode }, pipeline);
  if (!named) return known;
  const schedule = planSchedule(named.problem, { strategy, mode, budget: { steps: SCHEDULE_STEPS } });
  const { lower_bound, proof } = await certifySchedule(named.problem, schedule, solver, limits);
  if (lower_bound === null) return known;
  const bound = Math.min(known.value, Math.max(known.bound, lower_bound));
  const gap = known.value > 0 ? 1 - bound / known.value : 0;
  return { ...known, bound, gap, optimal: gap < 1e-9, proof };
}
