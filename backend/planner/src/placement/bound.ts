import type { Budget } from '../budget.js';
import { MAX_EXACT_ITEMS, searchExactly } from './exact.js';
import { crossTrafficBound } from './lower-bound.js';
import type { PlacementProblem } from './problem.js';
import { spectralBound } from './spectral-bound.js';

/** What no placement can go below, and by which argument. */
export interface PlacementBound {
  readonly lower_bound_bps: number;
  readonly method: 'nothing crosses' | 'branch and bound' | 'eigenvalues' | 'minimum cuts and neighbourhoods';
}

/** A step is one partial assignment of the exact search. */
export interface BoundBudget extends Budget {
  /** Of the eigenvalue bound. */
  readonly spectral_steps: number;
}

/** What sums of rates may be off by. */
const ROUNDING = 1e-9;

/** The best bound that the budget gives, for a placement that crosses `cut_bps`. */
export function boundPlacement(problem: PlacementProblem, cut_bps: number, budget: BoundBudget): PlacementBound {
  const total = problem.flows.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
  if (cut_bps <= ROUNDING * total) return { lower_bound_bps: 0, method: 'nothing crosses' };
  if (problem.items.length <= MAX_EXACT_ITEMS) {
    const { complete, lower_bound_bps } = searchExactly(problem, cut_bps, budget);
    if (complete) return { lower_bound_bps: Math.max(0, lower_bound_bps), method: 'branch and bound' };
  }
  const simple = crossTrafficBound(problem, budget);
  const spectral = spectralBound(problem, cut_bps, { ...budget, steps: budget.spectral_steps });
  return spectral > simple
    ? { lower_bound_bps: Math.min(spectral, cut_bps), method: 'eigenvalues' }
    : { lower_bound_bps: Math.min(simple, cut_bps), method: 'minimum cuts and neighbourhoods' };
}
