import type { Budget } from '../budget.js';
import { type Random, seededRandom } from '../random.js';
import { binCompletion } from './bin-completion.js';
import { dimensionBound } from './bounds.js';
import { exactPacking, MAX_EXACT_DEMANDS } from './exact.js';
import { anyFit, bestOfThreeFirstFits, firstFitDecreasing, firstFitInOrder } from './first-fit.js';
import { costOf, modelOf, type PackingModel } from './model.js';
import { type AcceleratorProblem, checkProblem, type OpenDevice } from './problem.js';
import { because, type Conflict, candidatesOf, conflictOf, type DeviceCandidate } from './reasons.js';

export type PackStrategy = 'bin-completion' | 'ffd' | 'best-of-3-ffd' | 'first-fit' | 'random';

interface PackOptions {
  readonly strategy: PackStrategy;
  readonly seed: number;
  /** Steps of search; a second of one core does about 30 million. */
  readonly budget: Budget;
}

export const DEFAULT_PACK_BUDGET: Budget = { steps: 20_000_000 };

/** Steps that the search of all packings may take of the budget. */
const EXACT_STEPS = 2_000_000;

interface Attempt {
  readonly devices: OpenDevice[] | null;
  readonly exhausted: boolean;
}

/** Every packing strategy; each returns `null` devices if a demand found none. */
const STRATEGIES: Record<PackStrategy, (model: PackingModel, random: Random, budget: Budget) => Attempt> = {
  'bin-completion': completeThenExhaust,
  ffd: (model) => ({ devices: firstFitDecreasing(model), exhausted: false }),
  'best-of-3-ffd': (model) => ({ devices: bestOfThreeFirstFits(model), exhausted: false }),
  'first-fit': (model) => ({ devices: firstFitInOrder(model), exhausted: false }),
  random: (model, random) => ({ devices: anyFit(model, random), exhausted: false }),
};

export const PACK_STRATEGIES = Object.keys(STRATEGIES) as PackStrategy[];

interface DemandReason {
  readonly demand: number;
  /** Index of its device in the packing; `null` when nothing could be packed. */
  readonly device: number | null;
  readonly because: string;
  readonly candidates: readonly DeviceCandidate[];
}

export interface Packed {
  /** `unknown`: none was found, and the search did not end. */
  readonly status: 'packed' | 'impossible' | 'unknown';
  readonly devices: readonly OpenDevice[];
  readonly cost: number;
  /** No packing costs less. */
  readonly lower_bound: number;
  /** (cost - lower_bound) / cost */
  readonly gap: number;
  readonly proof: 'dimension bound' | 'exhaustive search' | 'column generation';
  readonly reasons: readonly DemandReason[];
  /** Why nothing can be packed; `null` also where there was no time to tell. */
  readonly conflict: Conflict | null;
}

/**
 * Puts demands on devices at the least cost that the strategy finds (HYPER V-A, equations 1-6). Errors: `BadProblem`.
 * Bin completion gives the exact minimum whenever its bound or the search of all packings proves it.
 */
export function packOffline(problem: AcceleratorProblem, { strategy, seed, budget }: PackOptions): Packed {
  checkProblem(problem);
  const model = modelOf(problem);
  const bound = dimensionBound(model) * model.unit;
  const { devices, exhausted } = STRATEGIES[strategy](model, seededRandom(seed), budget);
  if (!devices) return nothingPacked(problem, bound, exhausted, budget);
  return packedAs(
    problem,
    devices,
    exhausted ? costOf(model, devices) * model.unit : bound,
    exhausted ? 'exhaustive search' : null,
  );
}

/** A packing with its cost, its gap to a bound and the reasons. */
export function packedAs(
  problem: AcceleratorProblem,
  devices: readonly OpenDevice[],
  lower_bound: number,
  proof: Packed['proof'] | null,
): Packed {
  const cost = devices.reduce((sum, { type }) => sum + problem.types[type]!.cost, 0);
  const on = new Int32Array(problem.demands.length);
  devices.forEach(({ demands }, b) => {
    for (const i of demands) on[i] = b;
  });
  const reasons = problem.demands.map((_, i): DemandReason => {
    const device = devices[on[i]!]!;
    return {
      demand: i,
      device: on[i]!,
      because: because(problem, i, device),
      candidates: candidatesOf(problem, i, device.type),
    };
  });
  const below = lower_bound > cost * (1 - 1e-9) ? cost : lower_bound;
  return {
    status: 'packed',
    devices,
    cost,
    lower_bound: below,
    gap: cost > 0 ? (cost - below) / cost : 0,
    proof: proof ?? 'dimension bound',
    reasons,
    conflict: null,
  };
}

function nothingPacked(
  problem: AcceleratorProblem,
  lower_bound: number,
  exhausted: boolean,
  { expired }: Budget,
): Packed {
  const conflict = expired?.() ? null : conflictOf(problem);
  const reasons = problem.demands.map((_, i): DemandReason => {
    const candidates = candidatesOf(problem, i, null);
    const able = candidates.some(({ constraint }) => constraint === null);
    const why = able ? 'There are too few devices for all demands together.' : 'Every type of device lacks something.';
    return { demand: i, device: null, because: why, candidates };
  });
  return {
    status: exhausted || conflict?.minimum ? 'impossible' : 'unknown',
    devices: [],
    cost: 0,
    lower_bound,
    gap: 1,
    proof: exhausted ? 'exhaustive search' : 'dimension bound',
    reasons,
    conflict,
  };
}

/** Bin completion; what its bound does not prove is then searched through, as long as the demands are few. */
function completeThenExhaust(model: PackingModel, random: Random, budget: Budget): Attempt {
  const few = model.n <= MAX_EXACT_DEMANDS;
  const first = few ? { ...budget, steps: Math.min(budget.steps, 20_000) } : budget;
  const devices = binCompletion(model, random, first);
  if (!few || (devices && costOf(model, devices) <= dimensionBound(model) + 1e-9)) return { devices, exhausted: false };
  const exact = exactPacking(model, devices, { ...budget, steps: Math.min(budget.steps, EXACT_STEPS) });
  if (exact.complete) return { devices: exact.devices, exhausted: true };
  const more = binCompletion(model, random, budget);
  const better = more && (!exact.devices || costOf(model, more) < costOf(model, exact.devices));
  return { devices: better ? more : exact.devices, exhausted: false };
}
