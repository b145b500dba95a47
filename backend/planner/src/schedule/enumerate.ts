import type { Budget } from '../budget.js';
import { solvePartition } from './partition.js';
import type { Mode } from './problem.js';
import { countOf, goodput, type Region, type Service } from './region.js';

/** Modules up to which every way to cut a region is tried. */
export const MAX_ENUMERATED = 12;
/** Modules of the parts of a larger region whose cuts are counted for a bound. */
export const BOUND_PART = 7;

/** Steps that are left; counts down. */
export class Allowance {
  private left: number;

  constructor(private readonly budget: Budget) {
    this.left = budget.steps;
  }

  take(): boolean {
    return this.left-- > 0 && !((this.left & 63) === 0 && this.budget.expired?.());
  }
}

interface Enumeration {
  /** The fewest tasks, and among these the most packets out. */
  readonly service: Service;
  readonly lower_bound: number;
  readonly complete: boolean;
}

/** Tries every way to cut a region, fewest tasks first, from services that are feasible. */
export function enumerate(region: Region, mode: Mode, start: Service, heads: Uint8Array, left: Allowance): Enumeration {
  const optional = [...region.parent.keys()].filter((v) => !region.forced[v]);
  const forced = countOf(region.forced);
  const most = countOf(heads) - forced;
  let best = start;
  for (let cuts = 0; cuts <= most; cuts++) {
    let value = cuts === most ? goodput(region, start) : -1;
    const complete = eachChoice(optional, cuts, (chosen) => {
      if (!left.take()) return false;
      const service = solvePartition(region, headsWith(region, chosen), mode, 'nothing');
      const result = service === null ? -1 : goodput(region, service);
      if (result >= 0 && result > value * (1 + 1e-9)) {
        best = service!;
        value = result;
      }
      return true;
    });
    if (value >= 0 || !complete) return { service: best, lower_bound: forced + cuts, complete };
  }
  return { service: best, lower_bound: forced + most, complete: true };
}

/**
 * Tasks that a region has at least: one for each forced head, and what disjoint parts of it cannot do without even if
 * whatever comes before them is as they like it.
 */
export function partsBound(region: Region, mode: Mode, partSize: number, left: Allowance): number {
  let bound = countOf(region.forced);
  let v = 0;
  while (v < region.parent.length) {
    if (region.end[v]! - v > partSize) {
      v++;
      continue;
    }
    bound += leastCuts(partOf(region, v), mode, left);
    v = region.end[v]!;
  }
  return bound;
}

/** Cuts beside forced ones; one fewer than there are leaves always suffices, so that no more are tried. */
function leastCuts(part: Region, mode: Mode, left: Allowance): number {
  const optional = [...part.parent.keys()].filter((v) => !part.forced[v]);
  const most = Math.min(optional.length, part.leaf.length - 1);
  for (let cuts = 0; cuts < most; cuts++) {
    let found = false;
    const complete = eachChoice(optional, cuts, (chosen) => {
      if (!left.take()) return false;
      found = solvePartition(part, headsWith(part, chosen), mode, 'any') !== null;
      return !found;
    });
    if (found || !complete) return cuts;
  }
  return most;
}

function headsWith(region: Region, chosen: readonly number[]): Uint8Array {
  const heads = Uint8Array.from(region.forced);
  for (const v of chosen) heads[v] = 1;
  return heads;
}

/** Visits every choice of `size` of the values until told to stop; says whether it saw them all. */
function eachChoice(values: readonly number[], size: number, visit: (chosen: readonly number[]) => boolean): boolean {
  const chosen: number[] = [];
  const go = (from: number): boolean => {
    if (chosen.length === size) return visit(chosen);
    for (let i = from; i <= values.length - (size - chosen.length); i++) {
      chosen.push(values[i]!);
      const on = go(i + 1);
      chosen.pop();
      if (!on) return false;
    }
    return true;
  };
  return go(0);
}

/** The part of a region from `v` down. */
function partOf(region: Region, v: number): Region {
  const end = region.end[v]!;
  const [a, b] = [region.first[v]!, region.last[v]!];
  const forced = region.forced.slice(v, end);
  forced[0] = 1;
  return {
    ...region,
    node: region.node.slice(v, end),
    parent: region.parent.slice(v, end).map((up, i) => (i === 0 ? -1 : up - v)),
    end: region.end.slice(v, end).map((it) => it - v),
    cycles: region.cycles.slice(v, end),
    depth: region.depth.slice(v, end),
    rate_pps: region.rate_pps.slice(v, end),
    forced,
    classes: region.classes.slice(a, b),
    leaf: region.leaf.slice(a, b).map((leaf) => leaf - v),
    target: region.target.slice(a, b),
    first: region.first.slice(v, end).map((it) => it - a),
    last: region.last.slice(v, end).map((it) => it - a),
  };
}
