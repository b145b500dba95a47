import {
  type Infrastructure,
  type NfDescriptor,
  nfInstances,
  type Plan,
  type PlanOptions,
  type Quality,
} from '@orrery/contract';
import { type Budget, inTime, OutOfTime, requireTime, shareOf, type TimedBudget } from '../budget.js';
import { implementationsOf } from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { type ClockOf, slowestGhz } from '../check/clock.js';
import type { UnableSwitches } from '../igraph/front-splits.js';
import { type UnplacedGraph, unplacedInstances } from '../igraph/graph.js';
import { sizedClocks } from '../igraph/sized-clocks.js';
import { buildSpg } from '../parallel/construction/build.js';
import { certifySpg } from '../parallel/construction/certify.js';
import { SPG_STEPS, spgProblem } from '../parallel/parallel-forms.js';
import { provisionedBy, provisioningOf, provisioningQuality } from '../parallel/provisioned-forms.js';
import { certifyProvisioning } from '../parallel/provisioning/certify.js';
import { boundPlacement } from '../placement/bound.js';
import { binsOf, problemOf } from '../placement/problem.js';
import { NOTHING_KNOWN, type Recall } from '../recall.js';
import { certifySchedule } from '../schedule/certify.js';
import { planSchedule } from '../schedule/plan-schedule.js';
import { SCHEDULE_STEPS, scheduleProblem } from '../schedule/schedule-forms.js';
import { classRate } from '../slo/class-forecasts.js';
import type { Solver } from '../solver/linear-model.js';
import { sameContent } from '../transition/same-spec.js';
import { analysedPaths, analysedRate } from './analysed-paths.js';
import { placementQuality } from './analysis.js';
import { sizedGraphs } from './graphs.js';
import { behindSwitches } from './with-switches.js';

/** A feasible plan and exactly what it was made from. */
export interface CertifyInput {
  readonly plan: Plan;
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
}

/** Of the time, for the bounds of the placement; the rest is for the others, in equal parts. */
const PLACEMENT_SHARE = 0.5;

/** Above this number of NFs a solver cannot help within seconds. */
const MAX_PROVEN_NFS = 13;

/** Partial assignments of the exact search of placement, far more than there is ever time for. */
export const CERTIFY_STEPS = 50_000_000;
const SPECTRAL_STEPS = 200;
/** Ways to cut the graph of a schedule that are tried before the solver is asked. */
const CUT_STEPS = 200_000;

/**
 * The plan's figures of quality with bounds as tight as the time allows, `null` when the plan was made with other
 * descriptors: a longer exact search, of as many steps as the budget has, and more eigenvalues for the placement, the
 * solver's independent proofs for parallel forms and schedules. A bound never gets looser; what there is no time for keeps
 * the figure that the plan has.
 */
export async function certifyPlan(
  { plan: whole, ...about }: CertifyInput,
  solver: Solver,
  budget: TimedBudget,
): Promise<Quality[] | null> {
  const found = await certifyOnServers({ ...about, plan: behindSwitches(whole) }, solver, budget);
  return found?.map((one, i) => ({ ...one, subject: whole.quality[i]!.subject })) ?? null;
}

async function certifyOnServers(input: CertifyInput, solver: Solver, budget: TimedBudget): Promise<Quality[] | null> {
  const { plan } = input;
  if (!areOffered(input)) return null;
  const sized = inTime(() => sizedAsPlanned(input, budget));
  if (sized === null) return plan.quality;
  if (sized === 'other') return null;
  const quality: Quality[] = [];
  let left = plan.quality.filter(({ part }) => part !== 'placement' && part !== 'chaining').length;
  let over = false;
  for (const known of plan.quality) {
    over ||= budget.expired?.() ?? false;
    const share = known.part === 'placement' ? PLACEMENT_SHARE : 1 / Math.max(1, left);
    const found = over ? null : await proven(sized, known, solver, shareOf(budget, share));
    if (known.part !== 'placement' && known.part !== 'chaining') left--;
    quality.push(found && isTighter(found, known) ? found : known);
  }
  return quality;
}

/** `null`: there is nothing to prove, or no time for it. */
async function proven(input: SizedInput, known: Quality, solver: Solver, budget: TimedBudget): Promise<Quality | null> {
  try {
    return (await PROOFS[known.part]?.(input, known, solver, budget)) ?? null;
  } catch (error) {
    if (error instanceof OutOfTime) return null;
    throw error;
  }
}

/** Whether the descriptors still have the form of every instance. */
function areOffered({ plan, descriptors }: CertifyInput): boolean {
  const catalogue = indexDescriptors(descriptors);
  return nfInstances(plan.graph).every(({ nf, driver }) =>
    catalogue.get(nf)?.implementations.some((implementation) => implementation.driver === driver),
  );
}

/**
 * The plan's graph before placement, and the clocks for which it was sized; `other`: none gives it, so it was made from
 * something else. Errors: `OutOfTime`.
 */
function sizedAsPlanned(input: CertifyInput, time: Pick<Budget, 'expired'>): SizedInput | 'other' {
  const { plan, descriptors, infrastructure } = input;
  const known = sizedClocks(plan, descriptors);
  const clockOf: ClockOf = (chainId) => known.get(chainId) ?? slowestGhz(infrastructure);
  const { pgraph, graph } = graphsAt(input, clockOf, time);
  return sameContent(pgraph, plan.pgraph) && isSameWork(graph, input) ? { ...input, clockOf, graph } : 'other';
}

/** Whether the instances cost the cores on which the plan has them as much as in the graph. */
function isSameWork(graph: UnplacedGraph, { plan, infrastructure }: CertifyInput): boolean {
  const hz = new Map(infrastructure.servers.map(({ id, ghz }) => [id, ghz * 1e9]));
  const total = (cycles: readonly number[]) => cycles.reduce((sum, each) => sum + each, 0);
  const made = total(unplacedInstances(graph).map(({ cycles_per_second }) => cycles_per_second));
  const runs = total(nfInstances(plan.graph).map(({ core_share, server }) => core_share * hz.get(server)!));
  return Math.abs(made - runs) <= 1e-6 * made;
}

function graphsAt({ plan, descriptors }: CertifyInput, clockOf: ClockOf, time: Pick<Budget, 'expired'>) {
  const implementations = implementationsOf(nfInstances(plan.graph));
  const input = { chains: plan.chains, descriptors, options: optionsOf(plan) };
  const split = plan.graph.nodes.flatMap((node) =>
    node.kind === 'split' && node.in_front_of === undefined ? [node] : [],
  );
  const unable: UnableSwitches = ({ chain_id }, node_id) =>
    split.some((node) => node.chain_id === chain_id && node.node_id === node_id) ? ['a switch'] : [];
  return sizedGraphs(input, clockOf, implementations, askingBefore(time), unable);
}

/** Asks the clock before the part of each chain. */
function askingBefore(time: Pick<Budget, 'expired'>): Recall {
  return {
    ...NOTHING_KNOWN,
    of: (_part, _from, make) => {
      requireTime(time);
      return make();
    },
  };
}

/** What is certified, its graph before placement, and the clocks for which it was sized. */
type SizedInput = CertifyInput & { readonly clockOf: ClockOf; readonly graph: UnplacedGraph };

/** Errors: `OutOfTime`. */
type Proof = (input: SizedInput, known: Quality, solver: Solver, budget: TimedBudget) => Quality | Promise<Quality>;

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
  { graph, infrastructure }: SizedInput,
  known: Quality,
  _solver: Solver,
  budget: TimedBudget,
): Quality {
  const table = { fixed: 0, available: Number.MAX_SAFE_INTEGER, where: 'fabric' };
  const problem = problemOf(graph, binsOf(infrastructure), table);
  const bound = boundPlacement(problem, known.value, { ...budget, spectral_steps: SPECTRAL_STEPS });
  return placementQuality(known.value, bound, known.method);
}

async function parallelProof(input: SizedInput, known: Quality, solver: Solver, budget: TimedBudget): Promise<Quality> {
  const graph = graphOf(input, known.subject, budget);
  if (!graph || graph.path.nodes.length > MAX_PROVEN_NFS) return known;
  const certificate = await certifySpg(graph.problem, graph.spg, solver, budget);
  if (certificate.contradictions.length > 0) return known;
  const bound = Math.min(known.value, Math.max(known.bound, certificate.critical_path_us));
  return { ...known, ...distance(known.value, bound), proof: 'critical path, proven by HiGHS' };
}

async function provisioningProof(
  input: SizedInput,
  known: Quality,
  solver: Solver,
  budget: TimedBudget,
): Promise<Quality> {
  const graph = graphOf(input, known.subject, budget);
  if (!graph || known.optimal || graph.path.nodes.length > MAX_PROVEN_NFS) return known;
  const { chain, path, spg } = graph;
  const { seed, pgraph, calibration } = input.plan;
  const problem = provisioningOf(
    { ...input, seed, calibration, implementations: implementationsOf(nfInstances(input.plan.graph)) },
    { chain, path, series: spg.series, rate_bps: analysedRate(pgraph, chain, path) },
  );
  if (!problem) return known;
  const ours = provisionedBy(problem, 'annealing', seed, budget);
  const found = await certifyProvisioning(problem, ours, solver, budget);
  if (!found.feasible) return known;
  const { proof } = provisioningQuality(known.subject, found);
  return { ...known, ...distance(known.value, Math.min(known.value, found.lower_bound_bits)), proof };
}

function distance(value: number, bound: number): Pick<Quality, 'bound' | 'gap' | 'optimal'> {
  const gap = value > 0 ? Math.max(0, 1 - bound / value) : 0;
  return { bound, gap, optimal: gap < 1e-9 };
}

/** Rebuilds the chain's graph as in the plan. Errors: `OutOfTime`. */
function graphOf(input: SizedInput, id: string, { expired }: Pick<Budget, 'expired'>) {
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
  const spg = buildSpg(problem, { strategy, seed, budget: { steps: SPG_STEPS, expired } });
  requireTime({ expired });
  return { ...at, problem, spg };
}

function chainOf({ chains, pgraph }: Plan, id: string) {
  for (const chain of chains) {
    const path = analysedPaths(pgraph, chain).find((it) => it.id === id);
    if (path) return { chain, path };
  }
  return null;
}

async function scheduleProof(input: SizedInput, known: Quality, solver: Solver, budget: TimedBudget): Promise<Quality> {
  const { plan } = input;
  const chain = plan.chains.find(({ chain_id }) => chain_id === known.subject);
  const { scheduling: strategy, scheduling_mode: mode } = plan;
  const rateOf: Parameters<typeof scheduleProblem>[0]['rateOf'] = (it, path) => classRate(plan.pgraph, it, path);
  const named = chain && scheduleProblem({ ...input, ...plan, rateOf, strategy, mode }, chain);
  if (!named) return known;
  const { expired } = budget;
  const schedule = planSchedule(named.problem, { strategy, mode, budget: { steps: SCHEDULE_STEPS, expired } });
  requireTime(budget);
  const { lower_bound, proof } = await certifySchedule(named.problem, schedule, solver, {
    ...budget,
    steps: CUT_STEPS,
  });
  if (lower_bound === null) return known;
  return { ...known, ...distance(known.value, Math.min(known.value, Math.max(known.bound, lower_bound))), proof };
}

function optionsOf({ parallelization, seed }: Plan): Pick<PlanOptions, 'parallelization' | 'seed'> {
  return { parallelization, seed };
}
