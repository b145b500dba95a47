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

/** How much work a bound is worth: partial assignments of the exact search, and steps of the eigenvalue bound. */
export interface BoundEffort {
  readonly exact: Budget;
  readonly spectral: Budget;
}

/** What sums of rates may be off by. */
const ROUNDING = 1e-9;

/** The best bound that the effort gives, for a placement that crosses `cut_bps`. */
export function boundPlacement(problem: PlacementProblem, cut_bps: number, effort: BoundEffort): PlacementBound {
  const total = problem.flows.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
  if (cut_bps <= ROUNDING * total) return { lower_bound_bps: 0, method: 'nothing crosses' };
  if (problem.items.length <= MAX_EXACT_ITEMS) {
    const { complete, lower_bound_bps } = searchExactly(problem, cut_bps, effort.exact);
    if (complete) return { lower_bound_bps: Math.max(0, lower_bound_bps), method: 'branch and bound' };
  }
  const simple = crossTrafficBound(problem, effort.spectral);
  const spectral = spectralBound(problem, cut_bps, effort.spectral);
  return spectral > simple
    ? { lower_bound_bps: Math.min(spectral, cut_bps), method: 'eigenvalues' }
    : { lower_bound_bps: Math.min(simple, cut_bps), method: 'minimum cuts and neighbourhoods' };
}
