import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import type { Budget } from '../budget.js';
import { CORE_BUDGET } from '../igraph/sizing.js';
import { adjacencyOf } from './adjacency.js';
import type { PlacementProblem } from './problem.js';

/** Above this size an eigenvalue decomposition, O(n^3), takes too long for what it tells. */
const MAX_SPECTRAL_ITEMS = 250;
/** Keeps the bound below the truth in spite of rounding, relative to the heaviest item's traffic. */
const ROUNDING = 1e-7;

/** What items take and servers have of one resource, in the same unit. */
interface Resource {
  readonly sizes: Float64Array;
  /** Largest first. */
  readonly capacities: readonly number[];
}

/**
 * Traffic that crosses between servers in any placement (Donath and Hoffman 1973): for sizes S, capacities
 * M1 >= M2 >= ... filled up in this order, Laplacian L, and any diagonal u,
 *
 *     2 cut >= sum of M_k * mu_k(S^-1/2 (L + diag u) S^-1/2) - sum of u,    mu ascending,
 *
 * since the indicators of the servers are orthogonal under S. A step of the budget improves u by one subgradient step
 * towards `target_bps`, a cut that is known to be possible. 0 when the problem is too large or one server would do.
 */
export function spectralBound(problem: PlacementProblem, target_bps: number, budget: Budget): number {
  const n = problem.items.length;
  if (n < 2 || n > MAX_SPECTRAL_ITEMS || target_bps <= 0) return 0;
  const { sizes, capacities } = scarcest(problem);
  const { laplacian, heaviest } = laplacianOf(problem);
  const mass = fill(capacities, sizes);
  if (heaviest === 0 || mass.length < 2) return 0;
  const u = new Float64Array(n);
  let best = 0;
  let stretch = 1;
  let since = 0;
  for (let step = 0; step < budget.steps && !budget.expired?.(); step++) {
    const { value, gradient } = evaluate(laplacian, sizes, mass, u);
    if (value > best) since = 0;
    else if (++since > 5) {
      stretch /= 2;
      since = 0;
    }
    best = Math.max(best, value);
    const steepness = gradient.reduce((sum, g) => sum + g * g, 0);
    const missing = target_bps - value;
    if (steepness < 1e-12 || missing <= 1e-9 * target_bps || stretch < 1e-3) break;
    for (let i = 0; i < n; i++) u[i]! += (stretch * missing * gradient[i]!) / steepness;
  }
  return Math.max(0, best - ROUNDING * heaviest);
}

/** The bound at u and its gradient. */
function evaluate(laplacian: Matrix, sizes: Float64Array, mass: readonly number[], u: Float64Array) {
  const n = sizes.length;
  const scaled = laplacian.clone();
  for (let i = 0; i < n; i++) {
    scaled.set(i, i, scaled.get(i, i) + u[i]!);
    for (let j = 0; j < n; j++) scaled.set(i, j, scaled.get(i, j) / Math.sqrt(sizes[i]! * sizes[j]!));
  }
  const { realEigenvalues, eigenvectorMatrix } = new EigenvalueDecomposition(scaled, { assumeSymmetric: true });
  const ascending = realEigenvalues.map((_, k) => k).sort((a, b) => realEigenvalues[a]! - realEigenvalues[b]!);
  const gradient = new Float64Array(n).fill(-0.5);
  let value = -u.reduce((a, b) => a + b, 0) / 2;
  mass.forEach((m, rank) => {
    const k = ascending[rank];
    if (k === undefined) return;
    value += (m * realEigenvalues[k]!) / 2;
    for (let i = 0; i < n; i++) gradient[i]! += (m * eigenvectorMatrix.get(i, k) ** 2) / (2 * sizes[i]!);
  });
  return { value, gradient };
}

function laplacianOf(problem: PlacementProblem): { laplacian: Matrix; heaviest: number } {
  const n = problem.items.length;
  const { first, other, rate_bps } = adjacencyOf(problem);
  const laplacian = Matrix.zeros(n, n);
  let heaviest = 0;
  for (let i = 0; i < n; i++) {
    for (let k = first[i]!; k < first[i + 1]!; k++) {
      if (other[k] === i) continue;
      laplacian.set(i, other[k]!, laplacian.get(i, other[k]!) - rate_bps[k]!);
      laplacian.set(i, i, laplacian.get(i, i) + rate_bps[k]!);
    }
    heaviest = Math.max(heaviest, laplacian.get(i, i));
  }
  return { laplacian, heaviest };
}

/** The resource of which the items take the largest part: processor time, whole cores for large items, or memory. */
function scarcest({ items, bins }: PlacementProblem): Resource {
  const half = (Math.max(...bins.map(({ hz }) => hz)) * CORE_BUDGET * (1 + 1e-9)) / 2;
  const resources = [
    resource(
      items.map(({ cycles_per_second }) => cycles_per_second),
      bins.map(({ cores, hz }) => cores * hz * CORE_BUDGET),
    ),
    resource(
      items.map(({ cycles_per_second }) => (cycles_per_second > half ? 1 : 0)),
      bins.map(({ cores }) => cores),
    ),
    resource(
      items.map(({ memory_bytes }) => memory_bytes),
      bins.map(({ memory_bytes }) => memory_bytes),
    ),
  ];
  const use = ({ sizes, capacities }: Resource) => total(sizes) / Math.max(1e-300, total(capacities));
  return resources.reduce((a, b) => (use(b) > use(a) ? b : a));
}

/** Items without size get a little, and every server room for all of it: the bound needs sizes above zero. */
function resource(sizes: readonly number[], capacities: readonly number[]): Resource {
  const trace = 1e-6 * Math.max(...sizes, Number.MIN_VALUE);
  const padded = Float64Array.from(sizes, (size) => Math.max(size, trace));
  const added = total(padded) - total(sizes);
  return { sizes: padded, capacities: capacities.map((it) => it * (1 + 1e-9) + added).sort((a, b) => b - a) };
}

function total(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum;
}

/** What lies on each server when the largest are filled first. */
function fill(capacities: readonly number[], sizes: Float64Array): number[] {
  let left = total(sizes);
  const mass: number[] = [];
  for (const capacity of capacities) {
    if (left <= 0) break;
    mass.push(Math.min(capacity, left));
    left -= capacity;
  }
  return mass;
}
