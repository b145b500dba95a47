import type { Budget } from '../budget.js';
import { seededRandom } from '../random.js';
import { type ChainConflict, conflictOf } from './conflicts.js';
import { idOf, lacking, latencyOf, overbookedBy, type PreparedNetwork } from './network.js';
import { type ChainRequest, checkRequest, type Shortage } from './problem.js';
import { remainingLatency, shortestPath } from './stages.js';
import { type Attempt, type ChainStrategy, type Round, STRATEGIES } from './strategies.js';

export interface ChainOptions {
  readonly strategy: ChainStrategy;
  readonly seed: number;
  /** A step is one label of a partial path. Absent: a number of steps that takes about a second. */
  readonly budget?: Budget;
  /** For the smallest set of constraints that rules every path out. Absent: at least a million, which takes seconds. */
  readonly conflict_steps?: number;
}

const DEFAULT_BUDGET: Budget = { steps: 500_000 };
const CONFLICT_STEPS = 1_000_000;

/** A candidate that a stage rejected, and why. */
export interface Rejected {
  readonly candidate: number;
  readonly constraint: Shortage;
}

interface StageAnswer {
  readonly function: number;
  readonly candidate: number;
  readonly node: number;
  /** From the stage before, or from the ingress. */
  readonly transit_us: number;
  readonly processing_us: number;
  /** From the ingress to the end of the stage. */
  readonly elapsed_us: number;
  readonly rejected: readonly Rejected[];
}

export interface ChainAnswer {
  /** `violates`: a strategy that does not look at the whole SLA took a path that breaks it. `unknown`: none found. */
  readonly status: 'qualifies' | 'violates' | 'impossible' | 'unknown';
  /** Candidates by stage; empty when there is no path. */
  readonly path: readonly number[];
  readonly stages: readonly StageAnswer[];
  readonly egress_us: number;
  readonly latency_us: number | null;
  readonly bound_us: number;
  readonly slack_us: number | null;
  /** No path over the same candidates is shorter; `null`: there is none. */
  readonly lower_bound_us: number | null;
  readonly proof: 'no cheaper or shorter path qualifies' | 'shortest path when capacity is lifted';
  /** Options to deploy, in the order of their stages. */
  readonly deployments: readonly number[];
  readonly rounds: readonly Round[];
  /** What the path breaks. */
  readonly violations: readonly Shortage[];
  /** Why no path qualifies. */
  readonly conflict: ChainConflict | null;
}

/** Chains one request over the free capacity without reserving it. Errors: `BadProblem`. */
export function chain(network: PreparedNetwork, request: ChainRequest, options: ChainOptions): ChainAnswer {
  const attempt = attemptOf(network, request, options);
  if (!attempt.path) return withoutPath(network, request, attempt, options);
  return answerOf(network, request, attempt, attempt.path);
}

/** The path alone, without reasons: what a fast lane of many requests needs; `null`: none. Errors: `BadProblem`. */
export function route(
  network: PreparedNetwork,
  request: ChainRequest,
  options: ChainOptions,
): ArrayLike<number> | null {
  return attemptOf(network, request, options).path;
}

function attemptOf(network: PreparedNetwork, request: ChainRequest, options: ChainOptions): Attempt {
  checkRequest(request, network.byFunction.length, network.nodes);
  const random = seededRandom(options.seed);
  return STRATEGIES[options.strategy](network, request, random, options.budget ?? DEFAULT_BUDGET);
}

function withoutPath(
  network: PreparedNetwork,
  request: ChainRequest,
  { rounds, proven }: Attempt,
  { budget = DEFAULT_BUDGET, conflict_steps }: ChainOptions,
): ChainAnswer {
  const steps = conflict_steps ?? Math.max(budget.steps, CONFLICT_STEPS);
  const least = shortestPath(network, request, true);
  return {
    status: proven ? 'impossible' : 'unknown',
    path: [],
    stages: [],
    egress_us: 0,
    latency_us: null,
    bound_us: request.latency_us,
    slack_us: null,
    lower_bound_us: Number.isFinite(least) ? least : null,
    proof: 'shortest path when capacity is lifted',
    deployments: [],
    rounds,
    violations: [],
    conflict: proven ? conflictOf(network, request, { ...budget, steps }) : null,
  };
}

function answerOf(
  network: PreparedNetwork,
  request: ChainRequest,
  { rounds, proven }: Attempt,
  path: ArrayLike<number>,
): ChainAnswer {
  const latency = latencyOf(network, path, request);
  const violations = violationsOf(network, request, path, latency);
  const lower = proven ? latency : Math.min(latency, shortestPath(network, request, true));
  const stages = stagesOf(network, request, path, latency);
  const last = network.node[path[path.length - 1]!]!;
  const deployments: number[] = [];
  for (let k = 0; k < path.length; k++)
    if (!network.running[path[k]!] && !deployments.includes(path[k]!)) deployments.push(path[k]!);
  return {
    status: violations.length === 0 ? 'qualifies' : 'violates',
    path: Array.from(path),
    stages,
    egress_us: network.transit_us[last * network.nodes + request.egress]!,
    latency_us: latency,
    bound_us: request.latency_us,
    slack_us: request.latency_us - latency,
    lower_bound_us: lower,
    proof: proven ? 'no cheaper or shorter path qualifies' : 'shortest path when capacity is lifted',
    deployments,
    rounds,
    violations,
    conflict: null,
  };
}

function violationsOf(
  network: PreparedNetwork,
  request: ChainRequest,
  path: ArrayLike<number>,
  latency: number,
): Shortage[] {
  const overbooked = overbookedBy(network, path, request.throughput_bps);
  const out = overbooked ? [overbooked] : [];
  if (latency > request.latency_us * (1 + 1e-9)) out.push(late(latency, request.latency_us, 'the whole path'));
  return out;
}

function late(needed: number, available: number, where: string): Shortage {
  return { constraint: 'latency', needed, available, unit: 'us', where };
}

function stagesOf(
  network: PreparedNetwork,
  request: ChainRequest,
  path: ArrayLike<number>,
  total: number,
): StageAnswer[] {
  const { nodes, node, transit_us, latency_us } = network;
  shortestPath(network, request, true);
  remainingLatency(network, request, true, null);
  const stages: StageAnswer[] = [];
  let at = request.ingress;
  let elapsed = 0;
  for (let k = 0; k < path.length; k++) {
    const c = path[k]!;
    const transit = transit_us[at * nodes + node[c]!]!;
    at = node[c]!;
    elapsed += transit + latency_us[c]!;
    stages.push({
      function: request.functions[k]!,
      candidate: c,
      node: at,
      transit_us: transit,
      processing_us: latency_us[c]!,
      elapsed_us: elapsed,
      rejected: rejectedAt(network, request, k, path, total),
    });
  }
  return stages;
}

function rejectedAt(
  network: PreparedNetwork,
  request: ChainRequest,
  stage: number,
  path: ArrayLike<number>,
  total: number,
): Rejected[] {
  const here = network.byFunction[request.functions[stage]!]!;
  const { forward, backward } = network.scratch;
  const out: Rejected[] = [];
  for (let p = 0; p < here.length; p++) {
    const candidate = here[p]!;
    if (candidate === path[stage]) continue;
    const cell = stage * network.candidates + p;
    const via = forward[cell]! + backward[cell]!;
    out.push({ candidate, constraint: whyNot(network, request, stage, candidate, via, total) });
  }
  return out;
}

/** What speaks against a candidate; `via` is the least latency of any path through it, capacity of others lifted. */
function whyNot(
  network: PreparedNetwork,
  request: ChainRequest,
  stage: number,
  candidate: number,
  via: number,
  total: number,
): Shortage {
  const alone = lacking(network, candidate, request.throughput_bps);
  if (alone) return alone;
  const where = idOf(network, candidate);
  if (!Number.isFinite(via)) return { constraint: 'connection', needed: 1, available: 0, unit: 'paths', where };
  if (via > request.latency_us) return late(via, request.latency_us, where);
  if (!network.running[candidate])
    return { constraint: 'deployment', needed: network.cost[candidate]!, available: 0, unit: 'cost', where };
  if (via < total) {
    const shortest = pathThrough(network, request, stage, candidate);
    const shared = overbookedBy(network, shortest, request.throughput_bps);
    if (shared) return shared;
    const deployed = shortest.reduce((sum, c) => sum + (network.running[c] ? 0 : network.cost[c]!), 0);
    if (deployed > 0) return { constraint: 'deployment', needed: deployed, available: 0, unit: 'cost', where };
  }
  return late(via, total, where);
}

/** The shortest path through a candidate, from what the two searches left behind. */
function pathThrough(network: PreparedNetwork, request: ChainRequest, stage: number, candidate: number): number[] {
  const { byFunction, candidates, scratch } = network;
  const at = (k: number) => byFunction[request.functions[k]!]!;
  const path = new Array<number>(request.functions.length);
  const start = at(stage).indexOf(candidate);
  for (let k = stage, p = start; k >= 0; k--) {
    path[k] = at(k)[p]!;
    if (k > 0) p = scratch.before[k * candidates + p]!;
  }
  for (let k = stage, p = start; k < path.length; k++) {
    path[k] = at(k)[p]!;
    if (k + 1 < path.length) p = scratch.after[k * candidates + p]!;
  }
  return path;
}
