import type { Highs, Model } from 'highs';
import type { Limits, LinearModel, Solution } from './linear-model.js';

/** Solves with HiGHS in this thread, which waits for it. Errors: a model with values that are not finite. */
export function solveWithHighs(highs: Highs, model: LinearModel, { time_limit_s }: Limits): Solution {
  if (model.columns.length === 0) return trivial(model);
  return highs.withModel(dataOf(highs, model), (it) => {
    it.options.set({ output_flag: false, time_limit: time_limit_s, mip_rel_gap: 1e-6 });
    it.run();
    return solutionOf(highs, it, model);
  });
}

function solutionOf(highs: Highs, it: Model, { columns, rows }: LinearModel): Solution {
  const { modelStatus, solutionStatus } = highs.constants;
  const found = it.getModelStatus();
  const none = { objective: null, bound: null, values: new Float64Array(columns.length), duals: new Float64Array(0) };
  if (found === modelStatus.infeasible) return { status: 'infeasible', ...none };
  if (found === modelStatus.unbounded || found === modelStatus.unboundedOrInfeasible)
    return { status: 'unbounded', ...none };
  const optimal = found === modelStatus.optimal;
  const hasIntegers = columns.some(({ integer }) => integer);
  const objective = it.getObjectiveValue();
  const dual = hasIntegers ? Number(it.info.get('mip_dual_bound')) : optimal ? objective : Number.NaN;
  const bound = Number.isFinite(dual) && Math.abs(dual) < highs.infinity ? dual : null;
  const feasible = Number(it.info.get('primal_solution_status')) === solutionStatus.feasible;
  if (!feasible) return { status: 'unknown', ...none, bound };
  const { colValue, rowDual } = it.getSolution();
  const duals = hasIntegers ? new Float64Array(rows.length) : rowDual;
  return { status: optimal ? 'optimal' : 'feasible', objective, bound, values: colValue, duals };
}

/** Without variables every row reads 0. */
function trivial({ rows }: LinearModel): Solution {
  const holds = rows.every(({ lower, upper }) => lower <= 0 && upper >= 0);
  const duals = new Float64Array(rows.length);
  const values = new Float64Array(0);
  return holds
    ? { status: 'optimal', objective: 0, bound: 0, values, duals }
    : { status: 'infeasible', objective: null, bound: null, values, duals };
}

function dataOf(highs: Highs, { columns, rows }: LinearModel) {
  const { continuous, integer } = highs.constants.variableType;
  const starts = [0];
  const indices: number[] = [];
  const values: number[] = [];
  for (const { terms } of rows) {
    const sums = new Map<number, number>();
    for (const [column, coefficient] of terms) sums.set(column, (sums.get(column) ?? 0) + coefficient);
    for (const [column, coefficient] of sums) {
      indices.push(column);
      values.push(coefficient);
    }
    starts.push(indices.length);
  }
  return {
    numCols: columns.length,
    numRows: rows.length,
    colCost: columns.map(({ cost }) => cost),
    colLower: columns.map(({ lower }) => lower),
    colUpper: columns.map(({ upper }) => upper),
    rowLower: rows.map(({ lower }) => lower),
    rowUpper: rows.map(({ upper }) => upper),
    integrality: columns.map((it) => (it.integer ? integer : continuous)),
    matrix: {
      format: 'csr' as const,
      numCols: columns.length,
      numRows: rows.length,
      starts: Int32Array.from(starts),
      indices: Int32Array.from(indices),
      values: Float64Array.from(values),
    },
  };
}
