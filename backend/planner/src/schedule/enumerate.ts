import type { Budget } from '../budget.js';
import {
  type Entry,
  equationOf,
  leafClashes,
  SINGULAR,
  solvePartition,
  type Unknowns,
  unknownsOf,
} from './partition.js';
import type { Mode } from './problem.js';
import { countOf, FREE, packetsPerCycle, type Region, type Service } from './region.js';

/** Modules up to which every way to cut a region is tried. */
export const MAX_ENUMERATED = 18;
/** Modules of the parts of a larger region whose cuts are counted for a bound. */
export const BOUND_PART = 7;

/** Relative error above which equations surely contradict each other; `solvePartition` judges the rest. */
const CONTRADICTION = 1e-7;

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
  /** The fewest tasks, and among these the most packets per cycle over all classes. */
  readonly service: Service;
  readonly lower_bound: number;
  readonly complete: boolean;
}

/** Tries every way to cut a region, fewest tasks first, from services that are feasible. */
export function enumerate(region: Region, mode: Mode, start: Service, heads: Uint8Array, left: Allowance): Enumeration {
  const forced = countOf(region.forced);
  const most = countOf(heads) - forced;
  const search = new CutSearch(region, 'nothing', leastBelow(region, mode, left), left);
  let best = start;
  for (let cuts = Math.min(search.least, most); cuts <= most; cuts++) {
    let value = cuts === most ? packetsPerCycle(region, start) : -1;
    const complete = search.each(cuts, (cut) => {
      const service = solvePartition(region, cut, mode, 'nothing');
      const result = service === null ? -1 : packetsPerCycle(region, service);
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
    const part = partOf(region, v);
    bound += leastCuts(part, mode, leastBelow(part, mode, left), left);
    v = region.end[v]!;
  }
  return bound;
}

/** For each node but the root the cuts that the nodes below it need, whatever comes before them. */
function leastBelow(region: Region, mode: Mode, left: Allowance): Int32Array {
  const least = new Int32Array(region.parent.length);
  for (let v = least.length - 1; v > 0; v--) {
    const end = region.end[v]!;
    if (region.binds[v] && severalBound(region, v))
      least[v] = leastCuts(partOf(region, v), mode, least.slice(v, end), left);
  }
  return least;
}

function severalBound({ group, first, last }: Region, v: number): boolean {
  let bound = 0;
  for (let k = first[v]!; k < last[v]! && bound < 2; k++) if (group[k] !== FREE) bound++;
  return bound > 1;
}

/** Cuts beside forced ones; one fewer than there are leaves always suffices, so that no more are tried. */
function leastCuts(part: Region, mode: Mode, below: Int32Array, left: Allowance): number {
  const search = new CutSearch(part, 'any', below, left);
  const bound = part.group.reduce((sum, group) => sum + (group === FREE ? 0 : 1), 0);
  const most = Math.max(0, Math.min(search.optional, bound - 1));
  for (let cuts = search.least; cuts < most; cuts++) {
    let found = false;
    const complete = search.each(cuts, (heads) => {
      found = solvePartition(part, heads, mode, 'any') !== null;
      return !found;
    });
    if (found || !complete) return cuts;
  }
  return Math.max(search.least, most);
}

/** An equation of a leaf without what the equations before it determine; the last entry is its right side. */
interface Equation {
  readonly row: Float64Array;
  readonly pivot: number;
}

/**
 * Visits ways to cut a region in preorder. The equations of leaves are eliminated as they are met, so that a way whose
 * first leaves contradict each other is left at once, as is one with too few cuts for what is still to come.
 */
class CutSearch {
  /** Nodes above which a cut may be made. */
  readonly optional: number;
  /** Cuts that are needed at least. */
  readonly least: number;
  private readonly heads: Uint8Array;
  private readonly column: Int32Array;
  private readonly equations: Equation[] = [];
  /** Cuts that the nodes from each on need, and may have. */
  private readonly needed: Int32Array;
  private readonly possible: Int32Array;
  private readonly unknowns: Unknowns;

  /** `below`: cuts that the nodes below each node need whatever comes before them. */
  constructor(
    private readonly region: Region,
    entry: Entry,
    below: Int32Array,
    private readonly left: Allowance,
  ) {
    const n = region.parent.length;
    this.heads = Uint8Array.from(region.forced);
    this.column = new Int32Array(n);
    this.unknowns = unknownsOf(region, entry);
    this.needed = new Int32Array(n + 1);
    this.possible = new Int32Array(n + 1);
    for (let v = n - 1; v > 0; v--) {
      this.needed[v] = below[v]! + this.needed[region.end[v]!]!;
      this.possible[v] = this.possible[v + 1]! + (region.forced[v] || !region.binds[v] ? 0 : 1);
    }
    this.least = this.needed[Math.min(1, n)]!;
    this.optional = this.possible[Math.min(1, n)]!;
  }

  /** Visits the ways with so many cuts until told to stop; says whether it saw them all. */
  each(cuts: number, visit: (heads: Uint8Array) => boolean): boolean {
    return this.enter(0, this.unknowns.others, this.unknowns.others + 1, cuts, visit);
  }

  /** `next` is the column of the next task. */
  private from(v: number, next: number, cuts: number, visit: (heads: Uint8Array) => boolean): boolean {
    const { parent, end, forced, binds } = this.region;
    if (cuts < this.needed[v]! || cuts > this.possible[v]!) return true;
    if (v === parent.length) return visit(this.heads);
    if (!binds[v]) return this.from(end[v]!, next, cuts, visit);
    if (forced[v]) return this.enter(v, next, next + 1, cuts, visit);
    if (!this.enter(v, this.column[parent[v]!]!, next, cuts, visit)) return false;
    if (cuts === 0) return true;
    this.heads[v] = 1;
    const on = this.enter(v, next, next + 1, cuts - 1, visit);
    this.heads[v] = 0;
    return on;
  }

  private enter(v: number, column: number, next: number, cuts: number, visit: (heads: Uint8Array) => boolean): boolean {
    this.column[v] = column;
    const { end, first, group } = this.region;
    const k = first[v]!;
    if (end[v] !== v + 1 || group[k] === FREE) return this.from(v + 1, next, cuts, visit);
    if (!this.left.take()) return false;
    if (leafClashes(this.region, this.heads, k)) return true;
    const equation = this.eliminated(k);
    if (equation === 'contradiction') return true;
    if (equation === null) return this.from(v + 1, next, cuts, visit);
    this.equations.push(equation);
    const on = this.from(v + 1, next, cuts, visit);
    this.equations.pop();
    return on;
  }

  /** The equation of a leaf; `null` when those before say the same. */
  private eliminated(k: number): Equation | 'contradiction' | null {
    const width = this.unknowns.others + this.region.parent.length;
    const row = equationOf(this.region, this.unknowns, k, this.column, width);
    let scale = 0;
    for (let j = 0; j < width; j++) scale = Math.max(scale, Math.abs(row[j]!));
    for (const { row: by, pivot } of this.equations) {
      const factor = row[pivot]!;
      if (factor === 0) continue;
      for (let j = 0; j <= width; j++) row[j]! -= factor * by[j]!;
      row[pivot] = 0;
    }
    const tiny = SINGULAR * scale;
    let pivot = 0;
    let [positive, negative] = [false, false];
    for (let j = 0; j < width; j++) {
      if (Math.abs(row[j]!) > Math.abs(row[pivot]!)) pivot = j;
      if (row[j]! > tiny) positive = true;
      else if (row[j]! < -tiny) negative = true;
    }
    // All unknowns are at least 0.
    if (!negative && row[width]! < -CONTRADICTION) return 'contradiction';
    if (!positive && row[width]! > CONTRADICTION) return 'contradiction';
    const largest = row[pivot]!;
    if (!positive && !negative) return null;
    for (let j = 0; j <= width; j++) row[j]! /= largest;
    return { row, pivot };
  }
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
    group: region.group.slice(a, b),
    binds: region.binds.slice(v, end),
    first: region.first.slice(v, end).map((it) => it - a),
    last: region.last.slice(v, end).map((it) => it - a),
  };
}
