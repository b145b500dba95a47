import { BadProblem, requireAtLeast } from '../bad-problem.js';
import { solverLimits, type TimedBudget } from '../budget.js';
import { type Limits, ModelBuilder, type Solver } from '../solver/linear-model.js';
import { dimensionBound } from './bounds.js';
import { bestContent } from './knapsack.js';
import { costOf, holds, modelOf, type PackingModel, roundedUp } from './model.js';
import { type Packed, packedAs } from './pack.js';
import { type AcceleratorProblem, checkProblem, type OpenDevice } from './problem.js';

/** Rounds of column generation, at most. */
const MAX_ROUNDS = 150;
/** Of each call of the solver, in seconds: one that takes longer than this does not end. */
const MOST_SOLVER_S = 5;

/** Steps of the pricing knapsacks that only look for more columns. */
const QUICK_STEPS = 2_000;
/** By how much a pricing knapsack may take longer once no column was found any more, to prove that there is none. */
const PROOF_FACTOR = 8;
/** Part of the price that the prices with the best bound so far keep (Wentges 1997). */
const SMOOTHING = 0.5;

/**
 * A packing with a bound by column generation, polished by the best choice of all columns that came up. The bound holds
 * whenever the search stops (Farley 1990 where devices abound, Lagrange's where they are few). Without a solver the
 * dimension bound stands. The steps of the budget are those of one pricing knapsack, eight times as many at the end, for
 * the proof. Errors: `BadProblem`, also for a packing that is not one of the problem.
 */
export async function certifyPacking(
  problem: AcceleratorProblem,
  packed: Packed,
  solver: Solver | null,
  budget: TimedBudget,
): Promise<Packed> {
  checkProblem(problem);
  requireAtLeast('/budget/steps', budget.steps, 0);
  if (packed.status !== 'packed') throw new BadProblem('/devices', 'must hold a packing');
  const model = modelOf(problem);
  checkPacking(model, packed.devices);
  const { unit } = model;
  const simple = Math.max(dimensionBound(model), packed.proof === 'exhaustive search' ? packed.lower_bound / unit : 0);
  const known = costOf(model, packed.devices);
  if (solver === null || model.n === 0 || known <= simple * (1 + 1e-9))
    return packedAs(problem, packed.devices, simple * unit, packed.proof);
  const generation = new ColumnGeneration(model, packed.devices, solver, budget);
  const bound = await generation.bound(simple);
  const polished = known > bound * (1 + 1e-9) ? await generation.polish() : null;
  const better = polished && costOf(model, polished) < known * (1 - 1e-9) ? polished : packed.devices;
  return packedAs(problem, better, bound * unit, bound > simple ? 'column generation' : packed.proof);
}

function checkPacking(model: PackingModel, devices: readonly OpenDevice[]): void {
  const left = model.count.slice();
  const placed = new Uint8Array(model.n);
  devices.forEach(({ type, demands }, b) => {
    if (!(type in left) || --left[type]! < 0) throw new BadProblem(`/devices/${b}/type`, 'is not left');
    for (const i of demands) {
      if (placed[i] !== 0) throw new BadProblem(`/devices/${b}/demands`, `must name each demand once, not ${i} again`);
      placed[i] = 1;
    }
    if (!holds(model, type, demands)) throw new BadProblem(`/devices/${b}`, 'holds more than fits');
  });
  if (placed.includes(0)) throw new BadProblem('/devices', `leave demand ${placed.indexOf(0)} out`);
}

class ColumnGeneration {
  private readonly columns: OpenDevice[];
  private readonly known: Set<string>;
  private readonly cost: number;
  private best = 0;
  private center: Float64Array | null = null;
  /** Steps of one pricing knapsack now. */
  private effort: number;

  constructor(
    private readonly model: PackingModel,
    packing: readonly OpenDevice[],
    private readonly solver: Solver,
    private readonly budget: TimedBudget,
  ) {
    this.columns = packing.map(({ type, demands }) => ({ type, demands: [...demands].sort((a, b) => a - b) }));
    this.known = new Set(this.columns.map(keyOf));
    this.cost = costOf(model, packing);
    this.effort = budget.steps;
  }

  /** The best bound found, rounded up to what a packing can cost. */
  async bound(simple: number): Promise<number> {
    this.best = simple;
    for (let round = 0; round < MAX_ROUNDS && !this.budget.expired?.(); round++) {
      const prices = await this.prices();
      if (!prices) break;
      const blend = this.center
        ? prices.demand.map((price, i) => SMOOTHING * this.center![i]! + (1 - SMOOTHING) * price)
        : prices.demand;
      const added = this.price(blend, prices) || (this.center !== null && this.price(prices.demand, prices));
      if (this.cost <= this.best * (1 + 1e-9)) break;
      if (added) continue;
      if (this.effort > this.budget.steps) break;
      this.effort *= PROOF_FACTOR;
    }
    return this.best;
  }

  /** Dual prices of the restricted master for each demand and type. */
  private async prices(): Promise<{ demand: Float64Array; type: Float64Array } | null> {
    const limits = this.limits();
    if (limits === null) return null;
    const { status, duals } = await this.solver(this.master(false), limits);
    if (status !== 'optimal') return null;
    const { n, m } = this.model;
    return { demand: duals.slice(0, n).map((it) => Math.max(0, it)), type: duals.slice(n, n + m) };
  }

  private limits(): Limits | null {
    const limits = solverLimits(this.budget);
    return limits && { time_limit_s: Math.min(MOST_SOLVER_S, limits.time_limit_s) };
  }

  private master(integer: boolean): ModelBuilder {
    const { n, m, cost, count } = this.model;
    const model = new ModelBuilder();
    const covers: [number, number][][] = Array.from({ length: n }, () => []);
    const uses: [number, number][][] = Array.from({ length: m }, () => []);
    for (const { type, demands } of this.columns) {
      const column = model.column({ cost: cost[type]!, integer, upper: integer ? 1 : Number.POSITIVE_INFINITY });
      for (const i of demands) covers[i]!.push([column, 1]);
      uses[type]!.push([column, 1]);
    }
    for (const terms of covers) model.row(terms, { lower: 1 });
    uses.forEach((terms, t) => {
      model.row(terms, { upper: count[t]! });
    });
    return model;
  }

  /** Raises the bound with these prices and adds columns that pay at the master's; whether any was added. */
  private price(prices: Float64Array, master: { demand: Float64Array; type: Float64Array }): boolean {
    const { m, cost, count } = this.model;
    let added = false;
    const tops: number[] = [];
    for (let t = 0; t < m; t++) {
      if (count[t] === 0) {
        tops.push(0);
        continue;
      }
      const { demands, upper } = bestContent(this.model, t, prices, { ...this.budget, steps: this.effort });
      tops.push(upper);
      if (this.add(t, demands, master)) added = true;
      if (this.addApart(t, demands, prices, master)) added = true;
    }
    const total = prices.reduce((a, b) => a + b, 0);
    const scale = tops.reduce((least, top, t) => (top > 0 ? Math.min(least, cost[t]! / top) : least), 1);
    const surplus = tops.reduce((sum, top, t) => sum + count[t]! * Math.min(0, cost[t]! - top), 0);
    const bound = roundedUp(Math.max(total * scale, total + surplus) * (1 - 1e-9), this.model.grain);
    if (bound > this.best || this.center === null) this.center = prices;
    this.best = Math.max(this.best, bound);
    return added;
  }

  /** More columns, none of which shares a demand with one before. */
  private addApart(
    type: number,
    first: readonly number[],
    prices: Float64Array,
    master: { demand: Float64Array; type: Float64Array },
  ): boolean {
    const used = new Uint8Array(this.model.n);
    let added = false;
    const quick = { ...this.budget, steps: QUICK_STEPS };
    let demands = first;
    for (let k = 0; k < this.model.n && demands.length > 0; k++) {
      for (const i of demands) used[i] = 1;
      demands = bestContent(this.model, type, prices, quick, used).demands;
      if (!this.add(type, demands, master)) break;
      added = true;
    }
    return added;
  }

  private add(type: number, demands: readonly number[], master: { demand: Float64Array; type: Float64Array }): boolean {
    const worth = demands.reduce((sum, i) => sum + master.demand[i]!, 0);
    if (worth + master.type[type]! <= this.model.cost[type]! + 1e-7) return false;
    const column = { type, demands: [...demands].sort((a, b) => a - b) };
    const key = keyOf(column);
    if (this.known.has(key)) return false;
    this.known.add(key);
    this.columns.push(column);
    return true;
  }

  /** The cheapest packing from the columns; a demand that several hold stays in the first. */
  async polish(): Promise<OpenDevice[] | null> {
    const limits = this.limits();
    if (limits === null) return null;
    const { status, values } = await this.solver(this.master(true), limits);
    if (status !== 'optimal' && status !== 'feasible') return null;
    const placed = new Uint8Array(this.model.n);
    const devices = this.columns
      .filter((_, c) => values[c]! > 0.5)
      .map(({ type, demands }) => {
        const mine = demands.filter((i) => !placed[i]);
        for (const i of mine) placed[i] = 1;
        return { type, demands: mine };
      })
      .filter(({ demands }) => demands.length > 0);
    return placed.includes(0) ? null : devices;
  }
}

function keyOf({ type, demands }: OpenDevice): string {
  return `${type}:${demands.join()}`;
}
