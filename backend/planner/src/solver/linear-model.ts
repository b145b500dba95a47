/** A linear objective to minimise under linear constraints, some variables integer. Plain data: it may cross threads. */
export interface LinearModel {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

interface Column {
  readonly cost: number;
  readonly lower: number;
  readonly upper: number;
  readonly integer: boolean;
}

/** lower <= sum of coefficient * column <= upper */
export interface Row {
  readonly terms: readonly Term[];
  readonly lower: number;
  readonly upper: number;
}

export type Term = readonly [column: number, coefficient: number];

export interface Limits {
  readonly time_limit_s: number;
}

/**
 * `feasible`: the limit came before the proof. `bound`: no solution costs less, as far as the solver got. `values` are of
 * columns; `duals` are of rows and hold something only for a model without integers.
 */
export interface Solution {
  readonly status: 'optimal' | 'feasible' | 'infeasible' | 'unbounded' | 'unknown';
  readonly objective: number | null;
  readonly bound: number | null;
  readonly values: Float64Array;
  readonly duals: Float64Array;
}

/** Polishes and certifies what the planner's own methods found; always within its limit. */
export type Solver = (model: LinearModel, limits: Limits) => Promise<Solution>;

/** A model in the making: each call gives the index of what it added. */
export class ModelBuilder implements LinearModel {
  readonly columns: Column[] = [];
  readonly rows: Row[] = [];

  column({ cost = 0, lower = 0, upper = Number.POSITIVE_INFINITY, integer = false }: Partial<Column> = {}): number {
    return this.columns.push({ cost, lower, upper, integer }) - 1;
  }

  /** A column that is 0 or 1. */
  binary(cost = 0): number {
    return this.column({ cost, upper: 1, integer: true });
  }

  row(
    terms: readonly Term[],
    { lower = Number.NEGATIVE_INFINITY, upper = Number.POSITIVE_INFINITY }: Partial<Omit<Row, 'terms'>>,
  ): number {
    return this.rows.push({ terms, lower, upper }) - 1;
  }
}
