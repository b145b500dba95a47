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
  const replicated = problem.workers.sharing === 'replicate' || strategy === 'run-to-completion';
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
  const { count, cycles_per_second } = problem.workers;
  const levels = layout.flat ? 1 : layout.nodeLevel.reduce((most, level) => Math.max(most, level), 0) + 1;
  if (replicated) {
    const capacity = count * cycles_per_second;
    const limit = Float64Array.of(capacity);
    return {
      tasks,
      worker: new Int32Array(tasks.length),
      workers: 1,
      cycles_per_second: capacity,
      limit,
      levels,
      polls,
    };
  }
  const worker = assignWorkers(problem, layout.tree, tasks);
  const load = new Float64Array(count);
  tasks.forEach((task, i) => {
    load[worker[i]!]! += demandOf(task);
  });
  const busiest = Math.max(...load);
  const limit = load.map((it) => (levels === 1 ? (it / busiest) * cycles_per_second : cycles_per_second));
  return { tasks, worker, workers: count, cycles_per_second, limit, levels, polls };
}
