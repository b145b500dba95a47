import { requireAtLeast } from '../../bad-problem.js';
import type { Budget } from '../../budget.js';
import type { Constraint } from '../../placement/problem.js';
import { type Random, seededRandom } from '../../random.js';
import { anneal } from './anneal.js';
import { checkProvisioning, impossibilities, type ProvisioningProblem } from './problem.js';
import { ProvisioningState } from './state.js';
import { atRandom, fillInOrder, greedy, linear } from './strawmen.js';

interface ProvisionOptions {
  readonly strategy: ProvisionStrategy;
  readonly seed: number;
  readonly budget: Budget;
}

/** Traffic from the instances on one server to those on another, along an edge of the graph. */
interface EdgeFlow {
  readonly edge: number;
  readonly from_server: number;
  readonly to_server: number;
  readonly rate_bps: number;
}

interface ServerUse {
  readonly cores: number;
  readonly memory_bytes: number;
  readonly in_bps: number;
  readonly out_bps: number;
}

interface RejectedProvisioning {
  readonly strategy: ProvisionStrategy;
  readonly overhead_bits: number | null;
  readonly because: string;
  readonly constraint: Constraint | null;
}

export interface Provisioned {
  readonly feasible: true;
  readonly strategy: ProvisionStrategy | 'solver';
  /** Instances of each NF on each server. */
  readonly counts: readonly (readonly number[])[];
  readonly loads_bps: readonly (readonly number[])[];
  readonly flows: readonly EdgeFlow[];
  /** Rate times delay over all traffic between servers: bits in transit (HydraNF 6.7). */
  readonly overhead_bits: number;
  readonly cross_traffic_bps: number;
  readonly lower_bound_bits: number;
  readonly bound_by: 'none' | 'zero' | 'solver';
  readonly gap: number;
  readonly proven: boolean;
  readonly use: readonly ServerUse[];
  readonly rejected: readonly RejectedProvisioning[];
}

interface Unprovisioned {
  readonly feasible: false;
  readonly conflicts: readonly Constraint[];
  /** Nothing can meet the conflicts; otherwise only the search found nothing. */
  readonly proven: boolean;
}

export type Provisioning = Provisioned | Unprovisioned;

interface Task {
  readonly state: ProvisioningState;
  readonly budget: Budget;
  readonly random: Random;
}

/** Each way to place a graph. `annealing` is ours, the others are what it is measured against. */
export const STRATEGIES = {
  annealing: (task) => annealed(task),
  greedy: ({ state }) => {
    greedy(state);
    state.evaluate();
  },
  linear: ({ state }) => {
    linear(state);
    state.evaluate(true);
  },
  random: ({ state, random }) => {
    atRandom(state, random);
    state.evaluate(true);
  },
} satisfies Record<string, (task: Task) => void>;
export type ProvisionStrategy = keyof typeof STRATEGIES;

const RESTARTS = 3;

function annealed({ state, budget, random }: Task): void {
  const best = new ProvisioningState(state.problem);
  const starts = [fillInOrder, greedy, (it: ProvisioningState) => atRandom(it, random)];
  for (let r = 0; r < RESTARTS; r++) {
    const trial = new ProvisioningState(state.problem);
    starts[r]!(trial);
    trial.evaluate();
    anneal(trial, { ...budget, steps: Math.floor(budget.steps / RESTARTS) }, random);
    const worse =
      trial.overbooked > best.overbooked || (trial.overbooked === best.overbooked && trial.cost_us >= best.cost_us);
    if (r === 0 || !worse) best.copyFrom(trial);
    if (best.cost_us === 0 && best.overbooked === 0) break;
  }
  state.copyFrom(best);
}

/**
 * Places the instances of a graph on servers with the least transmission overhead, `ceil(T / pr)` instances of each NF
 * (HydraNF 6.4.2). Counts are per server: instances on one server are alike. Traffic is divided for each edge; as in the
 * document, no edge knows how another divides the same packets.
 * Errors: `BadProblem`.
 */
export function provision(problem: ProvisioningProblem, { strategy, seed, budget }: ProvisionOptions): Provisioning {
  checkProvisioning(problem);
  requireAtLeast('/budget/steps', budget.steps, 0);
  const conflicts = impossibilities(problem);
  if (conflicts.length > 0) return { feasible: false, conflicts, proven: true };
  const run = (name: ProvisionStrategy) => {
    const state = new ProvisioningState(problem);
    const place: (task: Task) => void = STRATEGIES[name];
    place({ state, budget, random: seededRandom(seed) });
    return state;
  };
  const state = run(strategy);
  if (state.overbooked > 0) return { feasible: false, conflicts: conflictsOf([state, run('greedy')]), proven: false };
  const others: ProvisionStrategy[] = strategy === 'annealing' ? ['greedy', 'linear'] : [];
  const answer = provisioned(state, strategy);
  return { ...answer, rejected: others.map((name) => rejectedFor(name, run(name), answer.overhead_bits)) };
}

/** Combined conflicts of several attempts: one may break a limit only to keep another. */
function conflictsOf(states: readonly ProvisioningState[]): Constraint[] {
  const seen = new Map<string, Constraint>();
  for (const it of states.flatMap((state) => state.conflicts()))
    if (!seen.has(`${it.constraint} ${it.where}`)) seen.set(`${it.constraint} ${it.where}`, it);
  return [...seen.values()];
}

/** A state that overbooks nothing, as an answer without bound. */
export function provisioned(state: ProvisioningState, strategy: Provisioned['strategy']): Provisioned {
  const { problem, n, s } = state;
  const { rate_bps } = problem;
  const rows = (of: ArrayLike<number>, times: number) =>
    Array.from({ length: n }, (_, i) => Array.from({ length: s }, (_, k) => of[i * s + k]! * times));
  const flows: EdgeFlow[] = [];
  state.flows.forEach((share, at) => {
    const pair = at % (s * s);
    if (share <= 1e-12) return;
    const edge = Math.floor(at / (s * s));
    flows.push({ edge, from_server: Math.floor(pair / s), to_server: pair % s, rate_bps: share * rate_bps });
  });
  const overhead_bits = state.cost_us * rate_bps * 1e-6;
  const crossing = flows.filter(({ from_server, to_server }) => from_server !== to_server);
  return {
    feasible: true,
    strategy,
    counts: rows(state.counts, 1),
    loads_bps: rows(state.shares, rate_bps),
    flows,
    overhead_bits,
    cross_traffic_bps: crossing.reduce((sum, it) => sum + it.rate_bps, 0),
    lower_bound_bits: 0,
    bound_by: overhead_bits === 0 ? 'zero' : 'none',
    gap: overhead_bits === 0 ? 0 : 1,
    proven: overhead_bits === 0,
    use: Array.from({ length: s }, (_, k) => ({
      cores: state.cores[k]!,
      memory_bytes: state.memory[k]!,
      in_bps: state.in[k]! * rate_bps,
      out_bps: state.out[k]! * rate_bps,
    })),
    rejected: [],
  };
}

function rejectedFor(strategy: ProvisionStrategy, state: ProvisioningState, chosen_bits: number): RejectedProvisioning {
  const [constraint] = state.conflicts();
  if (constraint) return { strategy, overhead_bits: null, because: `overbooks ${constraint.where}`, constraint };
  const overhead_bits = state.cost_us * state.problem.rate_bps * 1e-6;
  const more = overhead_bits - chosen_bits;
  const because = more > 1e-9 * overhead_bits ? `${more.toFixed(0)} bits more under way between servers` : 'as good';
  return { strategy, overhead_bits, because, constraint: null };
}
