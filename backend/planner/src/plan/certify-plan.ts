import type { Infrastructure, NfDescriptor, Plan, PlannedPipeline, Quality } from '@orrery/contract';
import { buildSpg } from '../parallel/construction/build.js';
import { certifySpg } from '../parallel/construction/certify.js';
import { linearChains, SPG_STEPS, spgProblem } from '../parallel/parallel-forms.js';
import { provisionedBy, provisioningOf, provisioningQuality } from '../parallel/provisioned-forms.js';
import { certifyProvisioning } from '../parallel/provisioning/certify.js';
import { boundPlacement } from '../placement/bound.js';
import { binsOf, problemOf } from '../placement/problem.js';
import { certifySchedule } from '../schedule/certify.js';
import { planSchedule } from '../schedule/plan-schedule.js';
import { SCHEDULE_STEPS, scheduleProblem } from '../schedule/schedule-forms.js';
import { classRate } from '../slo/class-forecasts.js';
import type { Limits, Solver } from '../solver/linear-model.js';
import { placementQuality } from './analysis.js';
import { sizedGraphs } from './graphs.js';

/** A feasible plan and exactly what it was made from. */
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

const EXACT_STEPS = 50_000_000;
const SPECTRAL_STEPS = 200;

/**
 * The plan's figures of quality with bounds as tight as the time allows: a longer exact search and more eigenvalues for
 * the placement, the solver's independent proofs for parallel forms and schedules. A bound never gets looser.
 */
export async function certifyPlan(input: CertifyInput, solver: Solver, limits: CertifyLimits): Promise<Quality[]> {
  const { plan } = input;
  const proofs = plan.quality.filter(({ part }) => part !== 'placement' && part !== 'chaining').length;
  const each = { time_limit_s: limits.time_limit_s / 2 / Math.max(1, proofs) };
  const quality: Quality[] = [];
  const proofOf = (known: Quality): Quality | Promise<Quality> => {
    switch (known.part) {
      case 'placement':
        return placementProof(input, known, limits.expired);
      case 'parallelization':
        return parallelProof(input, known, solver, each);
      case 'provisioning':
        return provisioningProof(input, known, solver, each);
      case 'scheduling':
        return scheduleProof(input, known, solver, each);
      default:
        return known;
    }
  };
  for (const known of plan.quality) {
    const found = await proofOf(known);
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

async function parallelProof(input: CertifyInput, known: Quality, solver: Solver, limits: Limits): Promise<Quality> {
  const graph = graphOf(input, known.subject);
  if (!graph) return known;
  const certificate = await certifySpg(graph.problem, graph.spg, solver, limits);
  if (certificate.contradictions.length > 0) return known;
  const bound = Math.min(known.value, Math.max(known.bound, certificate.critical_path_us));
  return { ...known, ...distance(known.value, bound), proof: 'critical path, proven by HiGHS' };
}

async function provisioningProof(
  input: CertifyInput,
  known: Quality,
  solver: Solver,
  limits: Limits,
): Promise<Quality> {
  const graph = graphOf(input, known.subject);
  if (!graph || known.optimal) return known;
  const { pipeline, path, spg } = graph;
  const { seed, pgraph } = input.plan;
  const problem = provisioningOf(
    { ...input, seed },
    { pipeline, path, series: spg.series, rate_bps: classRate(pgraph, pipeline, path) },
  );
  if (!problem) return known;
  const found = await certifyProvisioning(problem, provisionedBy(problem, 'annealing', seed), solver, limits);
  if (!found.feasible) return known;
  const { proof } = provisioningQuality(known.subject, found);
  return { ...known, ...distance(known.value, Math.min(known.value, found.lower_bound_bits)), proof };
}

function distance(value: number, bound: number): Pick<Quality, 'bound' | 'gap' | 'optimal'> {
  const gap = value > 0 ? Math.max(0, 1 - bound / value) : 0;
  return { bound, gap, optimal: gap < 1e-9 };
}

/** The chain's graph, made again as the plan made it. */
function graphOf(input: CertifyInput, id: string) {
  const at = chainOf(input.plan.pipelines, id);
  if (!at) return null;
  const ghz = Math.max(...input.infrastructure.servers.map((server) => server.ghz));
  const { problem } = spgProblem({ ...input, ghz }, at.pipeline, at.path);
  const { parallelization: strategy, seed } = input.plan;
  return { ...at, problem, spg: buildSpg(problem, { strategy, seed, budget: { steps: SPG_STEPS } }) };
}

function chainOf(pipelines: readonly PlannedPipeline[], id: string) {
  for (const pipeline of pipelines) {
    const path = linearChains(pipeline).find((it) => it.id === id);
    if (path) return { pipeline, path };
  }
  return null;
}

async function scheduleProof(input: CertifyInput, known: Quality, solver: Solver, limits: Limits): Promise<Quality> {
  const { plan } = input;
  const pipeline = plan.pipelines.find(({ pipeline_id }) => pipeline_id === known.subject);
  const { scheduling: strategy, scheduling_mode: mode } = plan;
  const rateOf: Parameters<typeof scheduleProblem>[0]['rateOf'] = (it, path) => classRate(plan.pgraph, it, path);
  const named = pipeline && scheduleProblem({ ...input, ...plan, rateOf, strategy, mode }, pipeline);
  if (!named) return known;
  const schedule = planSchedule(named.problem, { strategy, mode, budget: { steps: SCHEDULE_STEPS } });
  const { lower_bound, proof } = await certifySchedule(named.problem, schedule, solver, limits);
  if (lower_bound === null) return known;
  return { ...known, ...distance(known.value, Math.min(known.value, Math.max(known.bound, lower_bound))), proof };
}
