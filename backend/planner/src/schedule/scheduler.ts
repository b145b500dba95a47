import type { Execution } from './fluid.js';
import type { SchedulerNode, WorkerSchedule } from './problem.js';
import { demandOf } from './tasks.js';

/** Share of its siblings' time for each task, on its worker and level. */
export function weightsOf({ tasks, worker }: Execution): Float64Array {
  const sums = new Map<string, number>();
  const key = (i: number) => `${worker[i]} ${tasks[i]!.level}`;
  tasks.forEach((task, i) => void sums.set(key(i), (sums.get(key(i)) ?? 0) + demandOf(task)));
  return Float64Array.from(tasks, (task, i) => demandOf(task) / (sums.get(key(i)) || 1));
}

/**
 * A scheduler tree for each worker (Alpine 5.4.2, Fig. 5.2): priorities over weighted shares over tasks, with as many
 * nodes as that takes, below a rate limit where a worker must not use all that it has.
 */
export function schedulersOf(execution: Execution, replicas: number): WorkerSchedule[] {
  const weights = weightsOf(execution);
  const roots = Array.from({ length: execution.workers }, (_, w) => rootOf(execution, weights, w));
  if (replicas === 1) return roots.map((root, worker) => ({ worker, root }));
  return Array.from({ length: replicas }, (_, worker) => ({ worker, root: roots[0]! }));
}

function rootOf(execution: Execution, weights: Float64Array, w: number): SchedulerNode | null {
  const { tasks, worker, workers, levels, limit, available, polls } = execution;
  const mine = [...tasks.keys()].filter((i) => worker[i] === w);
  if (mine.length === 0) return null;
  const byLevel = Array.from({ length: levels }, (_, level) => mine.filter((i) => tasks[i]!.level === level));
  const children = byLevel.flatMap((members, level) =>
    members.length === 0 ? [] : [{ level, node: sharing(members, weights, polls && level === levels - 1, workers) }],
  );
  const node: SchedulerNode = children.length === 1 ? children[0]!.node : { kind: 'priority', children };
  const held = limit[w]! < available[w]! * (1 - 1e-9);
  return held ? { kind: 'rate-limit', cycles_per_second: limit[w]!, child: node } : node;
}

/** A task by itself shares with nobody on its worker, but polls for its part of what all workers spend. */
function sharing(members: readonly number[], weights: Float64Array, polls: boolean, workers: number): SchedulerNode {
  if (members.length === 1 && !(polls && workers > 1)) return { kind: 'task', task: members[0]! };
  return {
    kind: 'weighted-fair',
    when_idle: polls ? 'poll' : 'yield',
    children: members.map((task) => ({ weight: weights[task]!, node: { kind: 'task', task } })),
  };
}
