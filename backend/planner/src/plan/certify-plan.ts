import {
  type Infrastructure,
  type NfDescriptor,
  nfInstances,
  type Plan,
  type PlanOptions,
  type Quality,
} from '@orrery/contract';
import { implementationsOf } from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { type ClockOf, slowestGhz } from '../check/clock.js';
import { type UnplacedGraph, unplacedInstances } from '../igraph/graph.js';
import { sizedClocks } from '../igraph/sized-clocks.js';
import { buildSpg } from '../parallel/construction/build.js';
import { certifySpg } from '../parallel/construction/certify.js';
import { SPG_STEPS, spgProblem } from '../parallel/parallel-forms.js';
import { provisionedBy, provisioningOf, provisioningQuality } from '../parallel/provisioned-forms.js';
import { certifyProvisioning } from '../parallel/provisioning/certify.js';
import { boundPlacement } from '../placement/bound.js';
import { binsOf, problemOf } from '../placement/problem.js';
import { certifySchedule } from '../schedule/certify.js';
import { planSchedule } from '../schedule/plan-schedule.js';
import { SCHEDULE_STEPS, scheduleProblem } from '../schedule/schedule-forms.js';
import { classRate } from '../slo/class-forecasts.js';
import type { Limits, Solver } from '../solver/linear-model.js';
import { sameContent } from '../transition/same-spec.js';
import { analysedPaths, analysedRate } from './analysed-paths.js';
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
  /** Seconds since the proof began. */
  readonly elapsed_s: () => number;
}

/** Of the time limit, for the bounds of the placement; the rest is for the others, in equal parts. */
const PLACEMENT_SHARE = 0.5;

/** Above this number of NFs a solver cannot help within seconds. */
const MAX_PROVEN_NFS = 13;

const EXACT_STEPS = 50_000_000;
const SPECTRAL_STEPS = 200;

/**
 * The plan's figures of quality with bounds as tight as the time allows, `null` when the plan was made with other
 * descriptors: a longer exact search and more eigenvalues for
 * the placement, the solver's independent proofs for parallel forms and schedules. A bound never gets looser.
 */
export async function certifyPlan(
  input: CertifyInput,
  solver: Solver,
  limits: CertifyLimits,
): Promise<Quality[] | null> {
  const { plan } = input;
  const { time_limit_s, elapsed_s } = limits;
  if (!areOffered(input)) return null;
  const clockOf = clocksOfPlan(input);
  if (clockOf === null) return null;
  const quality: Quality[] = [];
  let left = plan.quality.filter(({ part }) => part !== 'placement' && part !== 'chaining').length;
  for (const known of plan.quality) {
    const over = elapsed_s() >= time_limit_s;
    const each = { time_limit_s: Math.max(0.05, (time_limit_s - elapsed_s()) / Math.max(1, left)) };
    const found = over ? known : await PROOFS[known.part]?.({ ...input, clockOf }, known, solver, each, limits);
    if (known.part !== 'placement' && known.part !== 'chaining') left--;
    quality.push(found && isTighter(found, known) ? found : known);
  }
  return quality;
}

/** Whether the descriptors still have the form of every instance. */
function areOffered({ plan, descriptors }: CertifyInput): boolean {
  const catalogue = indexDescriptors(descriptors);
  return nfInstances(plan.graph).every(({ nf, driver }) =>
    catalogue.get(nf)?.implementations.some((implementation) => implementation.driver === driver),
  );
}

/** The clocks for which the plan was sized; `null`: none gives it, so it was made from something else. */
function clocksOfPlan(input: CertifyInput): ClockOf | null {
  const { plan, descriptors, infrastructure } = input;
  const known = sizedClocks(plan, descriptors);
  const clockOf: ClockOf = (chainId) => known.get(chainId) ?? slowestGhz(infrastructure);
  const { pgraph, graph } = graphsAt(input, clockOf);
  return sameContent(pgraph, plan.pgraph) && isSameWork(graph, input) ? clockOf : null;
}

/** Whether the instances cost the cores on which the plan has them as much as in the graph. */
function isSameWork(graph: UnplacedGraph, { plan, infrastructure }: CertifyInput): boolean {
  const hz = new Map(infrastructure.servers.map(({ id, ghz }) => [id, ghz * 1e9]));
  const total = (cycles: readonly number[]) => cycles.reduce((sum, each) => sum + each, 0);
  const made = total(unplacedInstances(graph).map(({ cycles_per_second }) => cycles_per_second));
  const runs = total(nfInstances(plan.graph).map(({ core_share, server }) => core_share * hz.get(server)!));
  return Math.abs(made - runs) <= 1e-6 * made;
}

function graphsAt({ plan, descriptors }: CertifyInput, clockOf: ClockOf) {
  const implementations = implementationsOf(nfInstances(plan.graph));
  return sizedGraphs({ chains: plan.chains, descriptors, options: optionsOf(plan) }, clockOf, implementations);
}

/** What is certified, and the clocks for which it was sized. */
type SizedInput = CertifyInput & { readonly clockOf: ClockOf };

type Proof = (
  input: SizedInput,
  known: Quality,
  solver: Solver,
  each: Limits,
  all: CertifyLimits,
) => Quality | Promise<Quality>;

/** Parts not listed are already exact. */
const PROOFS: Partial<Record<Quality['part'], Proof>> = {
  placement: placementProof,
  parallelization: parallelProof,
  provisioning: provisioningProof,
  scheduling: scheduleProof,
};

function isTighter(found: Quality, known: Quality): boolean {
  return found.bound > known.bound * (1 + 1e-9) || (found.optimal && !known.optimal);
}

function placementProof(
  input: SizedInput,
  known: Quality,
  _solver: Solver,
  _each: Limits,
  { time_limit_s, elapsed_s }: CertifyLimits,
): Quality {
  const expired = () => elapsed_s() > PLACEMENT_SHARE * time_limit_s;
  const { graph } = graphsAt(input, input.clockOf);
  const table = { fixed: 0, available: Number.MAX_SAFE_INTEGER, where: 'fabric' };
  const problem = problemOf(graph, binsOf(input.infrastructure), table);
  const effort = { exact: { steps: EXACT_STEPS, expired }, spectral: { steps: SPECTRAL_STEPS, expired } };
  return placementQuality(known.value, boundPlacement(problem, known.value, effort), known.method);
}

async function parallelProof(input: SizedInput, known: Quality, solver: Solver, limits: Limits): Promise<Quality> {
  const graph = graphOf(input, known.subject);
  if (!graph || graph.path.nodes.length > MAX_PROVEN_NFS) return known;
  const certificate = await certifySpg(graph.problem, graph.spg, solver, limits);
  if (certificate.contradictions.length > 0) return known;
  const bound = Math.min(known.value, Math.max(known.bound, certificate.critical_path_us));
  return { ...known, ...distance(known.value, bound), proof: 'critical path, proven by HiGHS' };
}

async function provisioningProof(input: SizedInput, known: Quality, solver: Solver, limits: Limits): Promise<Quality> {
  const graph = graphOf(input, known.subject);
  if (!graph || known.optimal || graph.path.nodes.length > MAX_PROVEN_NFS) return known;
  const { chain, path, spg } = graph;
  const { seed, pgraph, calibration } = input.plan;
  const problem = provisioningOf(
    { ...input, seed, calibration, implementations: implementationsOf(nfInstances(input.plan.graph)) },
    { chain, path, series: spg.series, rate_bps: analysedRate(pgraph, chain, path) },
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

/** Rebuilds the chain's graph as in the plan. */
function graphOf(input: SizedInput, id: string) {
  const at = chainOf(input.plan, id);
  if (!at) return null;
  const { problem } = spgProblem(
    {
      ...input,
      ghz: input.clockOf(at.chain.chain_id),
      implementations: implementationsOf(nfInstances(input.plan.graph)),
    },
    at.chain,
    at.path,
  );
  const { parallelization: strategy, seed } = input.plan;
  return { ...at, problem, spg: buildSpg(problem, { strategy, seed, budget: { steps: SPG_STEPS } }) };
}

function chainOf({ chains, pgraph }: Plan, id: string) {
  for (const chain of chains) {
    const path = analysedPaths(pgraph, chain).find((it) => it.id === id);
    if (path) return { chain, path };
  }
  return null;
}

async function scheduleProof(input: SizedInput, known: Quality, solver: Solver, limits: Limits): Promise<Quality> {
  const { plan } = input;
  const chain = plan.chains.find(({ chain_id }) => chain_id === known.subject);
  const { scheduling: strategy, scheduling_mode: mode } = plan;
  const rateOf: Parameters<typeof scheduleProblem>[0]['rateOf'] = (it, path) => classRate(plan.pgraph, it, path);
  const named = chain && scheduleProblem({ ...input, ...plan, rateOf, strategy, mode }, chain);
  if (!named) return known;
  const schedule = planSchedule(named.problem, { strategy, mode, budget: { steps: SCHEDULE_STEPS } });
  const { lower_bound, proof } = await certifySchedule(named.problem, schedule, solver, limits);
  if (lower_bound === null) return known;
  return { ...known, ...distance(known.value, Math.min(known.value, Math.max(known.bound, lower_bound))), proof };
}

function optionsOf({ parallelization, seed }: Plan): Pick<PlanOptions, 'parallelization' | 'seed'> {
  return { parallelization, seed };
}
