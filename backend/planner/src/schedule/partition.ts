import { LEAST_SERVICE } from './cpu-time.js';
import type { Mode } from './problem.js';
import { FREE, type Region, type Service } from './region.js';
import { maximise } from './simplex.js';

/** Relative size below which a coefficient is rounding. */
export const SINGULAR = 1e-9;

/** Whether something may already have been spent, equally for all classes, before the root. */
export type Entry = 'nothing' | 'any';

/**
 * What equations are about beside the services of tasks, whose columns come after: the factor of each scaled group, and
 * what was spent before the root. The first group that occurs has no factor, since all may be scaled together.
 */
export interface Unknowns {
  /** Column of the factor of each group; -1 for none. */
  readonly factor: Int32Array;
  /** Column of what was spent before; -1 for nothing. */
  readonly spent: number;
  readonly others: number;
}

export function unknownsOf(region: Region, entry: Entry): Unknowns {
  const present = [...new Set(region.group)].filter((group) => group !== FREE).sort((a, b) => a - b);
  const factor = new Int32Array(region.groups).fill(-1);
  present.slice(1).forEach((group, j) => {
    factor[group] = j;
  });
  const factors = Math.max(0, present.length - 1);
  return { factor, spent: entry === 'any' ? factors : -1, others: factors + (entry === 'any' ? 1 : 0) };
}

/** Cycles in each task, what was spent before, and the target of class `k`; divided by its target. `column` is by node. */
export function equationOf(
  { leaf, parent, cycles, target, group }: Region,
  { factor, spent }: Unknowns,
  k: number,
  column: Int32Array,
  width: number,
): Float64Array {
  const row = new Float64Array(width + 1);
  for (let v = leaf[k]!; v >= 0; v = parent[v]!) row[column[v]!]! += cycles[v]! / target[k]!;
  if (spent >= 0) row[spent] = 1 / target[k]!;
  const scaled = factor[group[k]!]!;
  row[scaled < 0 ? width : scaled] = scaled < 0 ? 1 : -1;
  return row;
}

/**
 * Services for given task heads: one for each task, above 0, that give every class its cycles and, in the constrained
 * mode, never rise; `null` when there are none. Where many do, the least service is as large as can be. Where only free
 * classes pass, what arrives is served.
 */
export function solvePartition(region: Region, heads: Uint8Array, mode: Mode, entry: Entry): Service | null {
  const bound = [...region.leaf.keys()].filter((k) => region.group[k] !== FREE);
  if (bound.length === 0) return new Float64Array(heads.length).fill(1);
  if (bound.some((k) => leafClashes(region, heads, k))) return null;
  const unknowns = unknownsOf(region, entry);
  const { others } = unknowns;
  const column = new Int32Array(heads.length);
  const upstream: number[] = [];
  heads.forEach((head, v) => {
    const up = v === 0 ? -1 : column[region.parent[v]!]! - others;
    column[v] = others + (head && region.binds[v] ? upstream.push(up) - 1 : up);
  });
  const width = others + upstream.length;
  const rows = bound.map((k) => equationOf(region, unknowns, k, column, width));
  const reduced = reduce(rows.map((row) => Float64Array.from(row)));
  if (reduced === null) return null;
  const x = reduced.pivots.length === width ? reduced.values() : spread(rows, upstream, others, mode);
  if (x === null) return null;
  if (unknowns.spent >= 0 && x[unknowns.spent]! < -LEAST_SERVICE) return null;
  const sound = upstream.every((up, k) => {
    const value = x[others + k]!;
    return value > LEAST_SERVICE && (mode === 'free' || up < 0 || value <= x[others + up]! * (1 + 1e-9));
  });
  return sound ? Float64Array.from(column, (j) => x[j]!) : null;
}

/** Two leaves that run in their parent's task differ by its service times their costs, which must be above 0. */
export function leafClashes(region: Region, heads: Uint8Array, k: number): boolean {
  const { leaf, target, parent, cycles, group } = region;
  const a = leaf[k]!;
  if (k === 0 || heads[a]) return false;
  const b = leaf[k - 1]!;
  if (parent[a] !== parent[b] || group[k] !== group[k - 1] || heads[b]) return false;
  const more = target[k - 1]! - target[k]!;
  const cost = cycles[b]! - cycles[a]!;
  const least = SINGULAR * Math.max(target[k - 1]!, target[k]!);
  return Math.abs(more) > least && more * cost <= 0;
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
function spread(
  rows: readonly Float64Array[],
  upstream: readonly number[],
  others: number,
  mode: Mode,
): Float64Array | null {
  const width = others + upstream.length;
  const descents = mode === 'free' ? [] : upstream.flatMap((up, k) => (up < 0 ? [] : [{ up, k }]));
  const size = 1 + width + descents.length;
  const equations = rows.map((row) => {
    const out = new Array<number>(size).fill(0);
    for (let j = 0; j < width; j++) {
      out[1 + j] = row[j]!;
      if (j >= others) out[0]! += row[j]!;
    }
    return out;
  });
  descents.forEach(({ up, k }, i) => {
    const out = new Array<number>(size).fill(0);
    out[1 + others + up] = 1;
    out[1 + others + k] = -1;
    out[1 + width + i] = -1;
    equations.push(out);
  });
  const objective = new Array<number>(size).fill(0);
  objective[0] = 1;
  const y = maximise(objective, equations, [...rows.map((row) => row[width]!), ...descents.map(() => 0)]);
  if (y === null) return null;
  return Float64Array.from({ length: width }, (_, j) => y[1 + j]! + (j >= others ? y[0]! : 0));
}
