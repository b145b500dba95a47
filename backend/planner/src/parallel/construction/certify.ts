import { OutOfTime, solverLimits, type TimedBudget } from '../../budget.js';
import { ModelBuilder, type Solver } from '../../solver/linear-model.js';
import type { Spg } from './build.js';
import { binBound, type ChainPacking, packingOf } from './chains.js';
import { overloadAndRemove } from './packing.js';
import { membersOf, relationOf, type SpgProblem } from './problem.js';

/** Of the time, for the critical path. */
const PATH_SHARE = 0.5;

/** What a solver says of a graph, independently of how it was made. */
interface SpgCertificate {
  /** Least end of the chain when every NF only waits for those it depends on: the critical path, as a linear programme. */
  readonly critical_path_us: number;
  /** The graph is not faster than the solver's critical path, and lies above it by this share. */
  readonly gap: number;
  /** Fewest bins of the packing (HydraNF 6.1-6.6); `bins_bound`: no packing has fewer. `null`: no time to find any. */
  readonly bins: number | null;
  readonly bins_bound: number;
  readonly proven: boolean;
  /** Claims of the graph or its packing that the solver contradicts; empty: none. */
  readonly contradictions: readonly string[];
}

/** Takes at most the time of the budget. Errors: `BadProblem`; `OutOfTime` before the critical path is known. */
export async function certifySpg(
  problem: SpgProblem,
  spg: Spg,
  solver: Solver,
  budget: TimedBudget,
): Promise<SpgCertificate> {
  const packing = packingOf(relationOf(problem));
  const first = solverLimits(budget, PATH_SHARE);
  const path = first && (await solver(criticalPathModel(problem), first));
  if (path === null || path.objective === null) throw new OutOfTime();
  const critical_path_us = path.objective;
  const rest = solverLimits(budget);
  const solved = rest && (await solver(packingModel(packing, overloadAndRemove(packing).length), rest));
  const bins = solved === null || solved.objective === null ? null : Math.round(solved.objective);
  const bins_bound = Math.max(binBound(packing), Math.ceil((solved?.bound ?? 0) - 1e-6));
  const contradictions: string[] = [];
  if (spg.latency_us < critical_path_us * (1 - 1e-9)) contradictions.push('the graph is faster than the critical path');
  if (Math.abs(critical_path_us - spg.critical_path.latency_us) > 1e-6 * Math.max(1, critical_path_us))
    contradictions.push('the critical path has another length');
  if (spg.lower_bound_us > spg.latency_us * (1 + 1e-9)) contradictions.push('the bound lies above the graph');
  if (spg.packing && spg.packing.bins.length < bins_bound) contradictions.push('the packing has too few bins');
  if (spg.packing && bins !== null && spg.packing.lower_bound > bins)
    contradictions.push('the bound on bins is too high');
  return {
    critical_path_us,
    gap: spg.latency_us > 0 ? Math.max(0, 1 - critical_path_us / spg.latency_us) : 0,
    bins,
    bins_bound,
    proven: bins !== null && bins === bins_bound,
    contradictions,
  };
}

function criticalPathModel({ nfs, pairs }: SpgProblem): ModelBuilder {
  const model = new ModelBuilder();
  const end = model.column({ cost: 1 });
  const starts = nfs.map(() => model.column());
  nfs.forEach(({ latency_us }, i) => {
    model.row(
      [
        [end, 1],
        [starts[i]!, -1],
      ],
      { lower: latency_us },
    );
  });
  for (const { earlier, later, parallel } of pairs) {
    if (parallel) continue;
    const terms = [[starts[later]!, 1] as const, [starts[earlier]!, -1] as const];
    model.row(terms, { lower: nfs[earlier]!.latency_us });
  }
  return model;
}

/** HydraNF 6.1-6.6, with chain j only in the first j + 1 bins: bins have no names. */
function packingModel({ chains, relation, capacity_us }: ChainPacking, bins: number): ModelBuilder {
  const model = new ModelBuilder();
  const used = Array.from({ length: bins }, () => model.binary(1));
  const holds = used.map(() => Array.from({ length: relation.n }, () => model.binary()));
  const takes = chains.map((_, j) => used.map((_, k) => model.column({ upper: k <= j ? 1 : 0, integer: true })));
  for (const row of takes)
    model.row(
      row.map((it) => [it, 1] as const),
      { lower: 1, upper: 1 },
    );
  used.forEach((z, k) => {
    const sizes = holds[k]!.map((x, i) => [x, relation.latency_us[i]!] as const);
    model.row([...sizes, [z, -capacity_us]], { upper: 1e-9 * capacity_us });
    for (const x of holds[k]!)
      model.row(
        [
          [z, 1],
          [x, -1],
        ],
        { lower: 0 },
      );
    chains.forEach((chain, j) => {
      for (const i of membersOf(chain))
        model.row(
          [
            [holds[k]![i]!, 1],
            [takes[j]![k]!, -1],
          ],
          { lower: 0 },
        );
    });
  });
  return model;
}
