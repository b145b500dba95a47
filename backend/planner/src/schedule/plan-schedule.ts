import { requireAtLeast } from '../bad-problem.js';
import { checkProblem } from './check.js';
import { Allowance } from './enumerate.js';
import type { Execution } from './fluid.js';
import type { Layout } from './layout.js';
import { predict } from './predict.js';
import type { Schedule, ScheduleOptions, ScheduleProblem, Task } from './problem.js';
import { schedulersOf, weightsOf } from './scheduler.js';
import { STRATEGIES } from './strategies.js';
import { demandOf, queuesOf, tasksOf } from './tasks.js';
import { assignWorkers } from './workers.js';

/**
 * Cuts a dataflow graph into tasks and configures the scheduler of each worker so that the SLOs between traffic classes
 * hold, with as few tasks as the strategy finds (Alpine 5.3). Errors: `BadProblem`. SLOs that cannot be had are a result.
 */
export function planSchedule(problem: ScheduleProblem, options: ScheduleOptions): Schedule {
  checkProblem(problem);
  const { strategy, mode, budget } = options;
  requireAtLeast('/budget/steps', budget.steps, 0);
  const outcome = STRATEGIES[strategy](problem, mode, new Allowance(budget));
  if ('conflicts' in outcome) return { feasible: false, strategy, mode, conflicts: outcome.conflicts };
  return scheduleOf(problem, outcome.layout, options);
}

/** Strategies side by side; the same order as asked. */
export function compareSchedules(
  problem: ScheduleProblem,
  strategies: readonly ScheduleOptions['strategy'][],
  options: Omit<ScheduleOptions, 'strategy'>,
): Schedule[] {
  return strategies.map((strategy) => planSchedule(problem, { ...options, strategy }));
}

/** Workers, scheduler trees and prediction for a layout. */
export function scheduleOf(
  problem: ScheduleProblem,
  layout: Layout,
  { strategy, mode }: Pick<ScheduleOptions, 'strategy' | 'mode'>,
): Extract<Schedule, { feasible: true }> {
  const shapes = tasksOf(problem, layout);
  const { sharing, placed } = problem.workers;
  const replicated = sharing === 'replicate' || (strategy === 'run-to-completion' && !placed);
  const execution = executionOf(problem, layout, shapes, replicated, mode === 'free' && strategy !== 'manual');
  const weights = weightsOf(execution);
  const everywhere = Array.from({ length: problem.workers.count }, (_, w) => w);
  const { tree } = layout;
  const tasks = shapes.map(
    ({ nodes, head, upstream, level, service }, i): Task => ({
      id: `task-${i}`,
      upstream: upstream < 0 ? null : upstream,
      modules: nodes.map((v) => tree.module[v]!),
      classes: [...tree.classAt.subarray(tree.first[head]!, tree.last[head]!)],
      workers: replicated ? everywhere : [execution.worker[i]!],
      level,
      weight: weights[i]!,
      service,
    }),
  );
  return {
    feasible: true,
    strategy,
    mode,
    tasks,
    queues: queuesOf(shapes, layout),
    workers: schedulersOf(execution, replicated ? problem.workers.count : 1),
    bound: layout.bound,
    prediction: predict(problem, layout, execution),
  };
}

function executionOf(
  problem: ScheduleProblem,
  layout: Layout,
  tasks: ReturnType<typeof tasksOf>,
  replicated: boolean,
  polls: boolean,
): Execution {
  const { count, cycles_per_second, placed } = problem.workers;
  const levels = layout.flat ? 1 : layout.nodeLevel.reduce((most, level) => Math.max(most, level), 0) + 1;
  if (replicated) {
    const available = Float64Array.of(count * cycles_per_second);
    return { tasks, worker: new Int32Array(tasks.length), workers: 1, available, limit: available, levels, polls };
  }
  const worker = placed ? workersAt(placed.worker, problem, layout, tasks) : assignWorkers(problem, layout.tree, tasks);
  const available = placed
    ? Float64Array.from(placed.cycles_per_second)
    : new Float64Array(count).fill(cycles_per_second);
  const load = new Float64Array(count);
  tasks.forEach((task, i) => {
    load[worker[i]!]! += demandOf(task);
  });
  const limit = levels === 1 ? heldBack(load, available, placed !== undefined && !polls) : available;
  return { tasks, worker, workers: count, available, limit, levels, polls };
}

/** Tasks run where their first module stands; a classifier where the first module behind it does. */
function workersAt(
  at: readonly number[],
  { classes }: ScheduleProblem,
  { tree }: Layout,
  tasks: ReturnType<typeof tasksOf>,
): Int32Array {
  return Int32Array.from(tasks, ({ head }) => {
    const module = tree.module[head]!;
    return at[module < 0 ? classes[tree.classAt[tree.first[head]!]!]!.path[0]! : module]!;
  });
}

/**
 * What each worker may spend, so that none is ahead of the one that falls behind most: ratios hold over all of them. Workers
 * with given modules that can do all that is offered are not held back (`spare`), unless they poll, for which they take all that
 * they may spend.
 */
function heldBack(load: Float64Array, available: Float64Array, spare: boolean): Float64Array {
  const factor = available.reduce(
    (least, cycles, w) => (load[w]! > 0 ? Math.min(least, cycles / load[w]!) : least),
    Number.POSITIVE_INFINITY,
  );
  return spare && factor >= 1 ? available : load.map((it) => it * factor);
}
