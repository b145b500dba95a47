const TINY = 1e-10;

/**
 * Maximises `objective * y` over `y >= 0` with `rows * y = right`, for a handful of variables (dense tableau in two
 * phases, Bland's rule). Without a solution: `null`. Unbounded: the point at which that was seen.
 */
export function maximise(
  objective: readonly number[],
  rows: readonly (readonly number[])[],
  right: readonly number[],
): Float64Array | null {
  const n = objective.length;
  const m = rows.length;
  const width = n + m + 1;
  const table = rows.map((row, i) => {
    const sign = right[i]! < 0 ? -1 : 1;
    const line = new Float64Array(width);
    for (let j = 0; j < n; j++) line[j] = sign * row[j]!;
    line[n + i] = 1;
    line[width - 1] = sign * right[i]!;
    return line;
  });
  const basis = Int32Array.from({ length: m }, (_, i) => n + i);
  const artificial = new Float64Array(width);
  for (const line of table) {
    for (let j = 0; j < n; j++) artificial[j]! += line[j]!;
    artificial[width - 1]! += line[width - 1]!;
  }
  const size = Math.max(1, ...right.map(Math.abs));
  improve(table, basis, artificial, n);
  if (artificial[width - 1]! > 1e-8 * size) return null;
  expelArtificial(table, basis, n);
  const gain = new Float64Array(width);
  for (let j = 0; j < n; j++) gain[j] = objective[j]!;
  basis.forEach((column, i) => {
    if (column < n) eliminate(gain, table[i]!, column);
  });
  improve(table, basis, gain, n);
  const out = new Float64Array(n);
  basis.forEach((column, i) => {
    if (column < n) out[column] = table[i]![width - 1]!;
  });
  return out;
}

function improve(table: Float64Array[], basis: Int32Array, gain: Float64Array, n: number): void {
  for (;;) {
    let enter = 0;
    while (enter < n && gain[enter]! <= TINY) enter++;
    if (enter === n) return;
    const leave = leaving(table, basis, enter);
    if (leave < 0) return;
    pivot(table, basis, leave, enter);
    eliminate(gain, table[leave]!, enter);
  }
}

function leaving(table: Float64Array[], basis: Int32Array, enter: number): number {
  let leave = -1;
  let least = Number.POSITIVE_INFINITY;
  table.forEach((line, i) => {
    if (line[enter]! <= TINY) return;
    const ratio = line.at(-1)! / line[enter]!;
    const tie = ratio <= least + TINY && leave >= 0 && ratio >= least - TINY;
    if (tie ? basis[i]! < basis[leave]! : ratio < least) {
      leave = i;
      least = ratio;
    }
  });
  return leave;
}

function expelArtificial(table: Float64Array[], basis: Int32Array, n: number): void {
  basis.forEach((column, i) => {
    if (column < n) return;
    const enter = table[i]!.findIndex((value, j) => j < n && Math.abs(value) > 1e-7);
    if (enter >= 0) pivot(table, basis, i, enter);
    else table[i]!.fill(0);
  });
}

function pivot(table: Float64Array[], basis: Int32Array, row: number, column: number): void {
  const line = table[row]!;
  const by = line[column]!;
  for (let j = 0; j < line.length; j++) line[j]! /= by;
  for (let i = 0; i < table.length; i++) if (i !== row) eliminate(table[i]!, line, column);
  basis[row] = column;
}

function eliminate(line: Float64Array, by: Float64Array, column: number): void {
  const factor = line[column]!;
  if (factor === 0) return;
  for (let j = 0; j < line.length; j++) line[j]! -= factor * by[j]!;
}
