import { requireAtLeast } from '../bad-problem.js';
import { shareOf, solverLimits, type TimedBudget } from '../budget.js';
import { ModelBuilder, type Solver, type Term } from '../solver/linear-model.js';
import { checkProblem } from './check.js';
import { Allowance } from './enumerate.js';
import { conflictsIn, fewestTasks, type Layout, settingOf } from './layout.js';
import { solvePartition } from './partition.js';
import { scheduleOf } from './plan-schedule.js';
import type { Mode, Schedule, ScheduleProblem } from './problem.js';
import { countOf, FREE, headsOf, type Region } from './region.js';
import { unfold } from './tree.js';

/** What a solver says of a schedule. */
interface Certificate {
  /** Whether SLOs can be had at all in this mode; `null` when the limit came first. */
  readonly attainable: boolean | null;
  /** Tasks that every schedule needs which meets the SLOs; `null` when none does. */
  readonly lower_bound: number | null;
  /** Tasks that might still be saved. */
  readonly gap: number | null;
  readonly proven_optimal: boolean;
  readonly proof: string;
  /** A schedule with fewer tasks, if the solver knew of one. */
  readonly better: Schedule | null;
}

/** Of the time, for the ways to cut that are tried before the solver is asked. */
const ENUMERATION_SHARE = 0.5;

/**
 * Bounds the number of tasks from below by the exact linear form: one service for each module, equal along edges that are
 * not cut, `sum of cycles * service = target` on the path of each class. A step of the budget is one way to cut that is
 * tried before the solver is asked; regions for which there is no time count as few tasks as they must have. Errors:
 * `BadProblem`.
 */
export async function certifySchedule(
  problem: ScheduleProblem,
  schedule: Schedule,
  solver: Solver,
  budget: TimedBudget,
): Promise<Certificate> {
  checkProblem(problem);
  requireAtLeast('/budget/steps', budget.steps, 0);
  const { mode } = schedule;
  const setting = settingOf(problem, unfold(problem));
  if (mode === 'constrained' && conflictsIn(problem, setting).length > 0)
    return confirmConflict(setting.regions, solver, budget);
  const layout = fewestTasks(setting, mode, new Allowance(shareOf(budget, ENUMERATION_SHARE)));
  const heads = Uint8Array.from(layout.heads);
  const service = Float64Array.from(layout.service);
  let solved = 0;
  for (const [r, region] of setting.regions.entries()) {
    const share = 1 / (setting.regions.length - r);
    const { lower_bound, found } = await boundOf(region, mode, solver, budget, share);
    solved += lower_bound;
    const now = region.node.reduce((sum, v) => sum + heads[v]!, 0);
    if (found === null || countOf(found.heads) >= now) continue;
    region.node.forEach((v, i) => {
      heads[v] = found.heads[i]!;
      service[v] = found.service[i]!;
    });
  }
  return verdict(problem, schedule, { ...layout, heads, service }, solved);
}

function verdict(problem: ScheduleProblem, schedule: Schedule, layout: Layout, solved: number): Certificate {
  const lower_bound = Math.max(solved, layout.bound.lower_bound);
  const tasks = countOf(layout.heads);
  const proof =
    solved >= layout.bound.lower_bound ? 'mixed-integer programme in the exact linear form' : layout.bound.proof;
  const bound = {
    ...layout.bound,
    tasks,
    lower_bound,
    gap: tasks - lower_bound,
    proven_optimal: tasks === lower_bound,
    proof,
  };
  const have = schedule.feasible ? schedule.bound.tasks : Number.POSITIVE_INFINITY;
  const better = tasks < have && schedule.strategy === 'alpine';
  const gap = Math.max(0, (better ? tasks : Math.min(have, Number.MAX_SAFE_INTEGER)) - lower_bound);
  return {
    attainable: true,
    lower_bound,
    gap,
    proven_optimal: gap === 0,
    proof,
    better: better ? scheduleOf(problem, { ...layout, bound }, schedule) : null,
  };
}

/** Asks the solver, without regard to the number of tasks, whether the SLOs cannot be had indeed. */
async function confirmConflict(regions: readonly Region[], solver: Solver, budget: TimedBudget): Promise<Certificate> {
  const none = { lower_bound: null, gap: null, proven_optimal: false, better: null };
  for (const [r, region] of regions.entries()) {
    const limits = solverLimits(budget, 1 / (regions.length - r));
    if (limits === null) break;
    const { model } = linearForm(region, 'constrained', false);
    const { status } = await solver(model, limits);
    if (status === 'infeasible')
      return { attainable: false, ...none, proof: 'the linear programme of the exact form has no solution' };
  }
  return { attainable: null, ...none, proof: 'the solver did not confirm the conflict' };
}

async function boundOf(region: Region, mode: Mode, solver: Solver, budget: TimedBudget, share: number) {
  const forced = countOf(region.forced);
  const nothingToCut = region.forced.every((it, v) => it || !region.binds[v]);
  // A factor of a group has no upper limit, which the programme needs.
  if (nothingToCut || region.groups > 1) return { lower_bound: forced, found: null };
  const limits = solverLimits(budget, share);
  if (limits === null) return { lower_bound: forced, found: null };
  const { model, cuts } = linearForm(region, mode, true);
  const { status, bound, values } = await solver(model, limits);
  const lower_bound = forced + Math.max(0, Math.ceil((bound ?? 0) - 1e-6));
  if (region.kind === 'throughput' || (status !== 'optimal' && status !== 'feasible'))
    return { lower_bound, found: null };
  const heads = region.forced.map((it, v) => (it || (cuts[v]! >= 0 && values[cuts[v]!]! > 0.5) ? 1 : 0));
  const service = solvePartition(region, heads, mode, 'nothing');
  return { lower_bound, found: service === null ? null : { heads: headsOf(region, service), service } };
}

/** The exact linear form; `cuts` holds the column that is 1 where the edge above a module is cut, -1 where there is none. */
function linearForm(region: Region, mode: Mode, counting: boolean): { model: ModelBuilder; cuts: Int32Array } {
  const model = new ModelBuilder();
  const descends = mode === 'constrained' || region.kind === 'throughput';
  const upper = new Float64Array(region.parent.length);
  region.parent.forEach((up, v) => {
    upper[v] = counting && region.binds[v] ? mostService(region, v) : (upper[up] ?? Number.POSITIVE_INFINITY);
  });
  const factors = Array.from({ length: region.groups }, (_, group) => (group > 0 ? model.column({}) : -1));
  const x = Array.from(upper, (it) => model.column({ upper: it }));
  const cuts = new Int32Array(x.length).fill(-1);
  region.parent.forEach((up, v) => {
    if (up < 0) return;
    const difference: Term[] = [
      [x[up]!, 1],
      [x[v]!, -1],
    ];
    if (descends) model.row(difference, { lower: 0 });
    if (region.forced[v] || !region.binds[v] || !counting) return;
    const cut = model.binary(1);
    cuts[v] = cut;
    model.row([...difference, [cut, -upper[up]!]], { upper: 0 });
    if (!descends) model.row([...difference, [cut, upper[v]!]], { lower: 0 });
  });
  region.leaf.forEach((leaf, k) => {
    const [target, group] = [region.target[k]!, region.group[k]!];
    if (group === FREE) return;
    const terms: Term[] = group > 0 ? [[factors[group]!, -1]] : [];
    if (region.kind === 'throughput') terms.push([x[leaf]!, 1 / target]);
    else for (let v = leaf; v >= 0; v = region.parent[v]!) terms.push([x[v]!, region.cycles[v]! / target]);
    const wanted = group > 0 ? 0 : 1;
    model.row(terms, { lower: wanted, upper: wanted });
  });
  return { model, cuts };
}

/** No class may be charged more than its target; nothing needs more than the greatest throughput. */
function mostService(region: Region, v: number): number {
  let most = region.kind === 'throughput' ? 0 : Number.POSITIVE_INFINITY;
  if (region.kind === 'throughput') for (const target of region.target) most = Math.max(most, target);
  else
    for (let k = region.first[v]!; k < region.last[v]!; k++)
      if (region.group[k] !== FREE) most = Math.min(most, region.target[k]! / region.cycles[v]!);
  return most;
}
