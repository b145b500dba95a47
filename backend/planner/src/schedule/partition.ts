import { LEAST_SERVICE } from './cpu-time.js';
import type { Mode } from './problem.js';
import type { Region, Service } from './region.js';
import { maximise } from './simplex.js';

const SINGULAR = 1e-9;

/**
 * Services for given task heads: one for each task, above 0, that give every class its cycles and, in the constrained
 * mode, never rise; `null` when there are none. Where many do, the least service is as large as can be. `entry` says
 * whether something may already have been spent, equally for all classes, before the root.
 */
export function solvePartition(
  region: Region,
  heads: Uint8Array,
  mode: Mode,
  entry: 'nothing' | 'any',
): Service | null {
  if (siblingsClash(region, heads)) return null;
  const task = new Int32Array(heads.length);
  const upstream: number[] = [];
  heads.forEach((head, v) => {
    if (head) task[v] = upstream.push(v === 0 ? -1 : task[region.parent[v]!]!) - 1;
    else task[v] = task[region.parent[v]!]!;
  });
  const unknowns = upstream.length + (entry === 'any' ? 1 : 0);
  const rows = rowsOf(region, task, unknowns, entry);
  const reduced = reduce(rows.map((row) => Float64Array.from(row)));
  if (reduced === null) return null;
  const x = reduced.pivots.length === unknowns ? reduced.values() : spread(rows, upstream, mode);
  if (x === null) return null;
  if (entry === 'any' && x[unknowns - 1]! < -LEAST_SERVICE) return null;
  const sound = upstream.every(
    (up, k) => x[k]! > LEAST_SERVICE && (mode === 'free' || up < 0 || x[k]! <= x[up]! * (1 + 1e-9)),
  );
  return sound ? Float64Array.from(task, (k) => x[k]!) : null;
}

/** Two leaves that run in their parent's task differ by its service times their costs, which must be above 0. */
function siblingsClash({ leaf, target, parent, cycles }: Region, heads: Uint8Array): boolean {
  for (let k = 1; k < leaf.length; k++) {
    const [a, b] = [leaf[k - 1]!, leaf[k]!];
    if (parent[a] !== parent[b] || heads[a] || heads[b]) continue;
    const more = target[k - 1]! - target[k]!;
    const cost = cycles[a]! - cycles[b]!;
    const least = SINGULAR * Math.max(target[k - 1]!, target[k]!);
    if (Math.abs(more) > least && more * cost <= 0) return true;
  }
  return false;
}

/** A row for each class: cycles in each task, what was spent before, and the target; each divided by its target. */
function rowsOf(region: Region, task: Int32Array, unknowns: number, entry: 'nothing' | 'any'): number[][] {
  return Array.from(region.leaf, (leaf, k) => {
    const target = region.target[k]!;
    const row = new Array<number>(unknowns + 1).fill(0);
    for (let v = leaf; v >= 0; v = region.parent[v]!) row[task[v]!]! += region.cycles[v]! / target;
    if (entry === 'any') row[unknowns - 1] = 1 / target;
    row[unknowns] = 1;
    return row;
  });
}

/** Gauss-Jordan with full pivoting of rows; `null` when the equations contradict each other. */
function reduce(rows: Float64Array[]): { pivots: number[]; values: () => Float64Array } | null {
  const width = rows[0]!.length - 1;
  const scale = new Float64Array(width);
  for (const row of rows) for (let j = 0; j < width; j++) scale[j] = Math.max(scale[j]!, Math.abs(row[j]!));
  const pivots: number[] = [];
  for (let j = 0; j < width && pivots.length < rows.length; j++) {
    const at = pivots.length;
    let best = at;
    for (let i = at + 1; i < rows.length; i++) if (Math.abs(rows[i]![j]!) > Math.abs(rows[best]![j]!)) best = i;
    if (Math.abs(rows[best]![j]!) <= SINGULAR * scale[j]!) continue;
    [rows[at], rows[best]] = [rows[best]!, rows[at]!];
    const line = rows[at]!;
    const by = line[j]!;
    for (let c = j; c <= width; c++) line[c]! /= by;
    for (let i = 0; i < rows.length; i++) {
      const factor = rows[i]![j]!;
      if (i === at || factor === 0) continue;
      for (let c = j; c <= width; c++) rows[i]![c]! -= factor * line[c]!;
    }
    pivots.push(j);
  }
  for (let i = pivots.length; i < rows.length; i++) if (Math.abs(rows[i]![width]!) > SINGULAR) return null;
  return {
    pivots,
    values: () => {
      const x = new Float64Array(width);
      pivots.forEach((column, i) => {
        x[column] = rows[i]![width]!;
      });
      return x;
    },
  };
}

/** Of many solutions the one whose least service is largest. Variables: the least, then what each has above it. */
function spread(rows: readonly (readonly number[])[], upstream: readonly number[], mode: Mode): Float64Array | null {
  const width = rows[0]!.length - 1;
  const tasks = upstream.length;
  const descents = mode === 'free' ? [] : upstream.flatMap((up, k) => (up < 0 ? [] : [{ up, k }]));
  const size = 1 + width + descents.length;
  const equations = rows.map((row) => {
    const out = new Array<number>(size).fill(0);
    for (let j = 0; j < width; j++) {
      out[1 + j] = row[j]!;
      if (j < tasks) out[0]! += row[j]!;
    }
    return out;
  });
  descents.forEach(({ up, k }, i) => {
    const out = new Array<number>(size).fill(0);
    out[1 + up] = 1;
    out[1 + k] = -1;
    out[1 + width + i] = -1;
    equations.push(out);
  });
  const objective = new Array<number>(size).fill(0);
  objective[0] = 1;
  const y = maximise(objective, equations, [...rows.map((row) => row[width]!), ...descents.map(() => 0)]);
  if (y === null) return null;
  return Float64Array.from({ length: width }, (_, j) => y[1 + j]! + (j < tasks ? y[0]! : 0));
}
