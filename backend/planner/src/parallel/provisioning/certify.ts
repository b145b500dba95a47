import { solverLimits, type TimedBudget } from '../../budget.js';
import { ModelBuilder, type Solution, type Solver } from '../../solver/linear-model.js';
import { checkProvisioning, type ProvisioningProblem } from './problem.js';
import { type Provisioned, type Provisioning, provisioned } from './provision.js';
import { ProvisioningState, SLACK } from './state.js';

/** Of the time, for the linear programme. */
const LINEAR_SHARE = 0.5;

/**
 * Divides the traffic of a placement as well as can be (a linear programme), and bounds it by the exact model with
 * instances counted per server (HydraNF 6.7-6.12, whose x is 0 where an instance is placed; here a count is a count).
 * Takes the solver's placement only where it is better, or where ours found none, and leaves out what there is no time for.
 * Errors: `BadProblem`.
 */
export async function certifyProvisioning(
  problem: ProvisioningProblem,
  found: Provisioning,
  solver: Solver,
  budget: TimedBudget,
): Promise<Provisioning> {
  checkProvisioning(problem);
  if (!found.feasible && found.proven) return found;
  let best = found;
  const first = solverLimits(budget, LINEAR_SHARE);
  if (first && found.feasible && !found.proven) {
    const model = new ProvisioningModel(problem, found.counts);
    best = better(found, model.read(await solver(model.builder, first), found.strategy));
  }
  const rest = solverLimits(budget);
  if (rest === null) return best;
  const model = new ProvisioningModel(problem, null);
  const solved = await solver(model.builder, rest);
  if (solved.status === 'infeasible' && !best.feasible) return { ...best, proven: true };
  best = better(best, model.read(solved, 'solver'));
  if (!best.feasible) return best;
  return withBound(best, Math.max(0, solved.bound ?? 0) * problem.rate_bps * 1e-6);
}

function better(ours: Provisioning, theirs: Provisioned | null): Provisioning {
  if (!theirs) return ours;
  if (!ours.feasible) return theirs;
  return theirs.overhead_bits < ours.overhead_bits * (1 - 1e-6) ? { ...theirs, rejected: ours.rejected } : ours;
}

function withBound(it: Provisioned, bound_bits: number): Provisioned {
  if (it.bound_by === 'zero') return it;
  const lower_bound_bits = Math.min(it.overhead_bits, bound_bits);
  const gap = it.overhead_bits > 0 ? 1 - lower_bound_bits / it.overhead_bits : 0;
  return { ...it, lower_bound_bits, bound_by: 'solver', gap, proven: gap < 1e-5 };
}

/** Counts n[i,k], shares l[i,k] and flows f[e,k,k'], all of the chain's rate; counts may be given. */
class ProvisioningModel {
  readonly builder = new ModelBuilder();
  private readonly counts: number[][];
  private readonly shares: number[][];
  private readonly flows: number[][];

  constructor(
    private readonly problem: ProvisioningProblem,
    given: readonly (readonly number[])[] | null,
  ) {
    const { builder } = this;
    const state = new ProvisioningState(problem);
    const { nfs, servers, edges, delay_us } = problem;
    this.counts = nfs.map((_, i) =>
      servers.map((_, k) => {
        const upper = state.allows(i, k) ? state.needed(i) : 0;
        return given
          ? builder.column({ lower: given[i]![k]!, upper: given[i]![k]! })
          : builder.column({ upper, integer: true });
      }),
    );
    this.shares = nfs.map(() => servers.map(() => builder.column({ upper: 1 })));
    this.flows = edges.map(() => delay_us.flat().map((cost) => builder.column({ cost, upper: 1 })));
    nfs.forEach((_, i) => {
      this.equal(this.counts[i]!, state.needed(i));
      this.equal(this.shares[i]!, 1);
      servers.forEach((_, k) => {
        builder.row(
          [
            [this.shares[i]![k]!, 1],
            [this.counts[i]![k]!, -state.unit(i)],
          ],
          { upper: 0 },
        );
      });
    });
    this.addFlows();
    this.addServers();
  }

  private equal(columns: readonly number[], value: number): void {
    this.builder.row(
      columns.map((it) => [it, 1] as const),
      { lower: value, upper: value },
    );
  }

  private addFlows(): void {
    const { servers, edges } = this.problem;
    const s = servers.length;
    edges.forEach(({ from, to }, e) => {
      for (let k = 0; k < s; k++) {
        const out = servers.map((_, other) => [this.flows[e]![k * s + other]!, 1] as const);
        const into = servers.map((_, other) => [this.flows[e]![other * s + k]!, 1] as const);
        this.builder.row([...out, [this.shares[from]![k]!, -1]], { lower: 0, upper: 0 });
        this.builder.row([...into, [this.shares[to]![k]!, -1]], { lower: 0, upper: 0 });
      }
    });
  }

  private addServers(): void {
    const { nfs, servers, edges, rate_bps } = this.problem;
    const s = servers.length;
    servers.forEach((server, k) => {
      const load = (of: 'cores' | 'memory_bytes') => nfs.map((nf, i) => [this.counts[i]![k]!, nf[of]] as const);
      this.builder.row(load('cores'), { upper: server.cores });
      this.builder.row(load('memory_bytes'), { upper: server.memory_bytes });
      const others = servers.flatMap((_, other) => (other === k ? [] : [other]));
      const crossing = (at: (other: number) => number, outside: 'enters' | 'leaves') => [
        ...edges.flatMap((_, e) => others.map((other) => [this.flows[e]![at(other)]!, 1] as const)),
        ...nfs.flatMap((nf, i) => (nf[outside] ? [[this.shares[i]![k]!, 1] as const] : [])),
      ];
      const upper = server.link_bps / rate_bps;
      this.builder.row(
        crossing((other) => k * s + other, 'leaves'),
        { upper },
      );
      this.builder.row(
        crossing((other) => other * s + k, 'enters'),
        { upper },
      );
    });
  }

  /** The solution as an answer; `null` when there is none, or none that keeps every limit exactly. */
  read({ objective, values }: Solution, strategy: Provisioned['strategy']): Provisioned | null {
    if (objective === null) return null;
    const { problem } = this;
    const state = new ProvisioningState(problem);
    this.counts.forEach((row, i) => {
      row.forEach((column, k) => {
        state.put(i, k, Math.round(values[column]!));
      });
      state.spread(i, (k) => Math.max(0, values[this.shares[i]![k]!]!));
    });
    state.evaluate();
    if (state.overbooked > 0 || state.cost_us > objective * (1 + 1e-6) + 1e-9) this.take(state, values);
    const sound = state.overbooked === 0 && this.holds(state);
    return sound ? provisioned(state, strategy) : null;
  }

  /** The solver's own flows, where links or delays make them better than the nearest ones. */
  private take(state: ProvisioningState, values: Float64Array): void {
    state.assign(this.flows.flatMap((row) => row.map((column) => Math.max(0, values[column]!))));
  }

  private holds(state: ProvisioningState): boolean {
    const { s, counts, shares, n } = state;
    for (let i = 0; i < n; i++)
      for (let k = 0; k < s; k++)
        if (shares[i * s + k]! > counts[i * s + k]! * state.unit(i) * (1 + 10 * SLACK) + SLACK) return false;
    return true;
  }
}
