import { FREE, type Region, type Service } from './region.js';

/**
 * Services that let through of every class what its target says, with the fewest tasks and among these the least work:
 * a class gets out what its leaf serves, so that services never rise along a path, and only leaves of classes that are
 * not free are given. Groups of classes keep the scale that they have. Exact for one group, by a
 * dynamic programme over the distinct targets, in O(modules * distinct targets). Fewer tasks than classes suffice where
 * targets agree; the document's "exactly M" (Alpine 5.3.2) is what it takes to invert its matrix for *every* ratio.
 */
export function throughputServices(region: Region): Service {
  const n = region.parent.length;
  const values = distinct(region.target.filter((_, k) => region.group[k] !== FREE));
  if (values.length === 0) return new Float64Array(n).fill(1);
  const m = values.length;
  const tasks = new Int32Array(n * m);
  const work = new Float64Array(n * m);
  /** For each node the best value at or below an index, for a task of its own. */
  const best = new Int32Array(n * m);
  for (let v = n - 1; v >= 0; v--) {
    const isLeaf = region.end[v] === v + 1;
    const k = region.first[v]!;
    const given = isLeaf && region.group[k] !== FREE;
    const wanted = given ? indexOf(values, region.target[k]!) : -1;
    for (let i = 0; i < m; i++) {
      const at = v * m + i;
      work[at]! += values[i]! * region.cycles[v]! * region.rate_pps[v]!;
      if (given && i !== wanted) tasks[at] = IMPOSSIBLE;
      best[at] = i > 0 && !better(at, v * m + best[at - 1]!) ? best[at - 1]! : i;
      const up = region.parent[v]!;
      if (up < 0) continue;
      const own = v * m + best[at]!;
      const keeps = !region.forced[v] && !cheaper(tasks[own]! + 1, work[own]!, tasks[at]!, work[at]!);
      tasks[up * m + i] = Math.min(IMPOSSIBLE, tasks[up * m + i]! + (keeps ? tasks[at]! : tasks[own]! + 1));
      work[up * m + i]! += work[keeps ? at : own]!;
    }
  }
  return trace();

  function better(a: number, b: number): boolean {
    return cheaper(tasks[a]!, work[a]!, tasks[b]!, work[b]!);
  }

  function trace(): Service {
    const chosen = new Int32Array(n);
    chosen[0] = best[m - 1]!;
    for (let v = 1; v < n; v++) {
      const i = chosen[region.parent[v]!]!;
      const at = v * m + i;
      const own = v * m + best[at]!;
      const keeps = !region.forced[v] && !cheaper(tasks[own]! + 1, work[own]!, tasks[at]!, work[at]!);
      chosen[v] = keeps ? i : best[at]!;
    }
    return Float64Array.from(chosen, (i) => values[i]!);
  }
}

const IMPOSSIBLE = 1 << 28;

function cheaper(tasksA: number, workA: number, tasksB: number, workB: number): boolean {
  return tasksA < tasksB || (tasksA === tasksB && workA < workB);
}

/** Ascending; values that differ only by rounding are one. */
function distinct(values: Float64Array): number[] {
  const out: number[] = [];
  for (const value of values.toSorted()) if (out.length === 0 || value > out.at(-1)! * (1 + 1e-9)) out.push(value);
  return out;
}

function indexOf(values: readonly number[], value: number): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (Math.abs(values[i]! - value) < Math.abs(values[best]! - value)) best = i;
  return best;
}
