import type { ScheduleProblem } from './problem.js';
import { demandOf, type TaskShape } from './tasks.js';
import type { Tree } from './tree.js';

/** Steps of the search for an even division. */
const SEARCH_STEPS = 20_000;

/**
 * A worker for each task such that the busiest has as little as can be found: largest first, then a search that ends at
 * the bound, at its limit, or with the best division there is. Copies of a shared module stay on one worker, since a
 * module need not bear two workers at once.
 */
export function assignWorkers(problem: ScheduleProblem, tree: Tree, tasks: readonly TaskShape[]): Int32Array {
  const groups = groupsOf(problem, tree, tasks).sort((a, b) => b.demand - a.demand);
  const count = problem.workers.count;
  const total = groups.reduce((sum, { demand }) => sum + demand, 0);
  const bound = Math.max(total / count, groups[0]!.demand) * (1 + 1e-12);
  let best = largestFirst(groups, count);
  let height = heightOf(best);
  let steps = SEARCH_STEPS;
  const load = new Array<number>(count).fill(0);
  const place = new Array<number>(groups.length).fill(0);
  search(0);
  const out = new Int32Array(tasks.length);
  groups.forEach(({ members }, g) => {
    for (const task of members) out[task] = best[g]!;
  });
  return out;

  function heightOf(places: readonly number[]): number {
    const sums = new Array<number>(count).fill(0);
    places.forEach((worker, g) => {
      sums[worker]! += groups[g]!.demand;
    });
    return Math.max(...sums);
  }

  function search(g: number): void {
    if (height <= bound || steps-- <= 0) return;
    if (g === groups.length) {
      best = [...place];
      height = Math.max(...load);
      return;
    }
    const tried = new Set<number>();
    for (let worker = 0; worker < count; worker++) {
      const before = load[worker]!;
      if (tried.has(before) || before + groups[g]!.demand >= height * (1 - 1e-12)) continue;
      tried.add(before);
      load[worker] = before + groups[g]!.demand;
      place[g] = worker;
      search(g + 1);
      load[worker] = before;
    }
  }
}

interface Group {
  readonly members: number[];
  demand: number;
}

/** Largest first, each to the worker with least. */
function largestFirst(groups: readonly Group[], count: number): number[] {
  const load = new Array<number>(count).fill(0);
  return groups.map(({ demand }) => {
    const worker = load.indexOf(Math.min(...load));
    load[worker]! += demand;
    return worker;
  });
}

/** Tasks that must share a worker, with what they need together. */
function groupsOf(problem: ScheduleProblem, tree: Tree, tasks: readonly TaskShape[]): Group[] {
  const leader = Int32Array.from(tasks, (_, i) => i);
  const find = (i: number): number => {
    let at = i;
    while (leader[at] !== at) at = leader[at]!;
    return at;
  };
  const firstWith = new Int32Array(problem.modules.length).fill(-1);
  tasks.forEach(({ nodes }, i) => {
    for (const v of nodes) {
      const module = tree.module[v]!;
      if (module < 0) continue;
      if (firstWith[module]! < 0) firstWith[module] = i;
      else leader[find(i)] = find(firstWith[module]!);
    }
  });
  const groups = new Map<number, Group>();
  tasks.forEach((task, i) => {
    const group = groups.get(find(i)) ?? { members: [], demand: 0 };
    group.members.push(i);
    group.demand += demandOf(task);
    groups.set(find(i), group);
  });
  return [...groups.values()];
}
