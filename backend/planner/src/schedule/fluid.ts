import { demandOf, type TaskShape } from './tasks.js';

/** Who runs where, and what an idle task does with its share. */
export interface Execution {
  readonly tasks: readonly TaskShape[];
  /** Worker of each task; all 0 where workers are replicated and taken as one. */
  readonly worker: Int32Array;
  readonly workers: number;
  /** What each worker has. */
  readonly available: Float64Array;
  /** What each worker may spend on its tasks. */
  readonly limit: Float64Array;
  readonly levels: number;
  /** Tasks of the last level spend their share although their queue is empty. */
  readonly polls: boolean;
}

/** Long-run services of the tasks: packets per packet offered. */
export interface Flow {
  readonly granted: Float64Array;
  /** At most what the upstream task lets through. */
  readonly useful: Float64Array;
}

/** How many times workers tell each other what they let through. */
const ROUNDS = 32;

/**
 * The state in which strict priorities and weighted shares settle when packets are taken for a fluid and every queue
 * drops what it cannot hold. A level has what the levels before it leave.
 */
export function settle(execution: Execution): Flow {
  const { tasks, worker, workers, levels } = execution;
  const granted = new Float64Array(tasks.length);
  const useful = new Float64Array(tasks.length);
  const left = Float64Array.from(execution.limit);
  for (let level = 0; level < levels; level++) {
    const here = [...tasks.keys()].filter((i) => tasks[i]!.level === level);
    const on = Array.from({ length: workers }, (_, w) => here.filter((i) => worker[i] === w));
    const polls = execution.polls && level === levels - 1;
    if (polls) on.forEach((mine, w) => void grantAll(tasks, mine, left[w]!, granted));
    for (let round = 0; round < (workers > 1 ? ROUNDS : 1); round++) {
      if (polls) for (const i of here) useful[i] = Math.min(granted[i]!, arriving(tasks, useful, i));
      else on.forEach((mine, w) => void share(tasks, mine, left[w]!, useful));
    }
    on.forEach((mine, w) => {
      for (const i of mine) {
        if (!polls) granted[i] = useful[i]!;
        left[w] = Math.max(0, left[w]! - granted[i]! * costOf(tasks[i]!));
      }
    });
  }
  return { granted, useful };
}

function costOf({ work, overhead }: TaskShape): number {
  return work + overhead;
}

function arriving(tasks: readonly TaskShape[], useful: Float64Array, i: number): number {
  const up = tasks[i]!.upstream;
  return up < 0 ? 1 : useful[up]!;
}

/** Shares by weight alone. */
function grantAll(tasks: readonly TaskShape[], mine: readonly number[], capacity: number, granted: Float64Array): void {
  const weights = mine.reduce((sum, i) => sum + demandOf(tasks[i]!), 0);
  for (const i of mine) granted[i] = (capacity / weights) * tasks[i]!.service;
}

/** Shares by weight of which idle tasks leave what they do not need to the others. */
function share(tasks: readonly TaskShape[], mine: readonly number[], capacity: number, useful: Float64Array): void {
  const fill = (factor: number): number => {
    let used = 0;
    for (const i of mine) {
      useful[i] = Math.min(factor * tasks[i]!.service, arriving(tasks, useful, i));
      used += useful[i]! * costOf(tasks[i]!);
    }
    return used;
  };
  if (fill(Number.POSITIVE_INFINITY) <= capacity || mine.length === 0) return;
  let low = 0;
  let high = mine.reduce((most, i) => Math.max(most, 1 / tasks[i]!.service), 0);
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (fill(middle) <= capacity) low = middle;
    else high = middle;
  }
  fill(low);
}
