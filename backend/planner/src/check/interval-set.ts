/** A set of whole numbers as disjoint, ascending, non-touching closed intervals. */
export type IntervalSet = readonly (readonly [lo: number, hi: number])[];

export const EMPTY: IntervalSet = [];

export function interval(lo: number, hi: number): IntervalSet {
  return lo <= hi ? [[lo, hi]] : EMPTY;
}

export function intersect(a: IntervalSet, b: IntervalSet): IntervalSet {
  const out: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const lo = Math.max(a[i]![0], b[j]![0]);
    const hi = Math.min(a[i]![1], b[j]![1]);
    if (lo <= hi) out.push([lo, hi]);
    if (a[i]![1] < b[j]![1]) i++;
    else j++;
  }
  return out;
}

export function subtract(a: IntervalSet, b: IntervalSet): IntervalSet {
  const out: [number, number][] = [];
  let j = 0;
  for (const [from, to] of a) {
    let lo = from;
    while (j < b.length && b[j]![1] < lo) j++;
    for (let k = j; k < b.length && b[k]![0] <= to; k++) {
      if (b[k]![0] > lo) out.push([lo, b[k]![0] - 1]);
      lo = b[k]![1] + 1;
    }
    if (lo <= to) out.push([lo, to]);
  }
  return out;
}

export function union(a: IntervalSet, b: IntervalSet): IntervalSet {
  const out: [number, number][] = [];
  for (const [lo, hi] of [...a, ...b].sort((x, y) => x[0] - y[0])) {
    const last = out.at(-1);
    if (last && lo <= last[1] + 1) last[1] = Math.max(last[1], hi);
    else out.push([lo, hi]);
  }
  return out;
}

export function contains(set: IntervalSet, value: number): boolean {
  return set.some(([lo, hi]) => lo <= value && value <= hi);
}

export function equalSets(a: IntervalSet, b: IntervalSet): boolean {
  return a.length === b.length && a.every(([lo, hi], i) => lo === b[i]![0] && hi === b[i]![1]);
}
