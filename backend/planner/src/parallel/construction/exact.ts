import type { Relation } from './problem.js';
import { inOrder, type Series, sideBySide } from './series.js';

/** Subsets of subsets are looked at: 3^13 is 1.6 million. */
export const MAX_EXACT_NFS = 13;

interface ExactSpg {
  readonly series: Series;
  readonly latency_us: number;
  /** The least latency with at most so many copies: entry k is for k. Never rises. */
  readonly frontier_us: readonly number[];
}

/**
 * The series-parallel graph of least latency, and of these one with the fewest copies: a dynamic programme over all
 * subsets of the NFs, hence proven. `step_us`: what one mirror with its merge adds.
 * Precondition: at most `MAX_EXACT_NFS` NFs in the mask.
 */
export function exactSpg(relation: Relation, mask: number, step_us: number): ExactSpg {
  return new SubsetProgramme(relation, mask, step_us).best();
}

const TOLERANCE = 1 + 1e-9;

/** Works on the mask's NFs numbered anew, so that the tables are as small as can be. */
class SubsetProgramme {
  private readonly nfs: number[] = [];
  private readonly n: number;
  private readonly full: number;
  /** By subset: what depends on any of it, and what none of it may run before. */
  private readonly dependent: Int32Array;
  private readonly blocked: Int32Array;
  /** Least latency by subset and copies: of a subset that is no parallel step, and of one with any form. */
  private readonly series: Float64Array;
  private readonly any: Float64Array;
  /** Of a parallel step's branches alone, or of one branch: without mirror and merge. */
  private readonly body: Float64Array;

  constructor(
    private readonly relation: Relation,
    mask: number,
    private readonly step_us: number,
  ) {
    for (let x = 0; x < relation.n; x++) if (mask & (1 << x)) this.nfs.push(x);
    this.n = this.nfs.length;
    this.full = 2 ** this.n - 1;
    this.dependent = this.unions(relation.dependent);
    this.blocked = this.unions(relation.blocked);
    const size = 2 ** this.n * Math.max(1, this.n);
    this.series = new Float64Array(size).fill(Number.POSITIVE_INFINITY);
    this.any = new Float64Array(size).fill(Number.POSITIVE_INFINITY);
    this.body = new Float64Array(size).fill(Number.POSITIVE_INFINITY);
    for (let set = 1; set <= this.full; set++) this.fill(set);
  }

  best(): ExactSpg {
    if (this.n === 0) return { series: [], latency_us: 0, frontier_us: [0] };
    const frontier_us = Array.from({ length: this.n }, (_, k) => this.any[this.full * this.n + k]!);
    const least = frontier_us[this.n - 1]!;
    const copies = frontier_us.findIndex((it) => it <= least * TOLERANCE);
    return { series: this.build(this.full, copies), latency_us: frontier_us[copies]!, frontier_us };
  }

  private unions(of: Int32Array): Int32Array {
    const out = new Int32Array(2 ** this.n);
    const single = this.nfs.map((x) => this.nfs.reduce((bits, y, j) => bits | (((of[x]! >> y) & 1) << j), 0));
    for (let set = 1; set <= this.full; set++) out[set] = out[set & (set - 1)]! | single[31 - Math.clz32(set & -set)]!;
    return out;
  }

  /** Where no NF of the set depends on another, several parallel steps in a row never beat one of longer branches. */
  private fill(set: number): void {
    const { n, series, any, body } = this;
    const at = set * n;
    const size = bitCount(set);
    const low = 31 - Math.clz32(set & -set);
    const independent = (this.dependent[set]! & set) === 0;
    if (size === 1) series.fill(this.relation.latency_us[this.nfs[low]!]!, at, at + n);
    else if (independent) {
      series.fill(series[(1 << low) * n]! + series[(set & (set - 1)) * n]!, at, at + n);
      for (let part = (set - 1) & set; part !== 0; part = (part - 1) & set)
        if ((part & set & -set) !== 0) this.addBody(at, part, set ^ part);
    } else {
      for (let part = (set - 1) & set; part !== 0; part = (part - 1) & set) {
        const rest = set ^ part;
        if ((this.blocked[part]! & rest) === 0) this.addSeries(at, part, rest);
        if ((part & set & -set) !== 0 && (this.dependent[part]! & rest) === 0) this.addBody(at, part, rest);
      }
    }
    for (let k = 0; k < n; k++) {
      if (k > 0) body[at + k] = Math.min(body[at + k]!, body[at + k - 1]!);
      if (k > 0) series[at + k] = Math.min(series[at + k]!, series[at + k - 1]!);
      any[at + k] = Math.min(series[at + k]!, body[at + k]! + this.step_us);
    }
    for (let k = 0; k < n; k++) body[at + k] = Math.min(body[at + k]!, series[at + k]!);
  }

  private addSeries(at: number, part: number, rest: number): void {
    const { n, series, any } = this;
    const [a, b] = [bitCount(part) - 1, bitCount(rest) - 1];
    for (let i = 0; i <= a; i++) {
      const head = any[part * n + i]!;
      if (i > 0 && head === any[part * n + i - 1]) continue;
      for (let j = 0; j <= b; j++) {
        const sum = head + any[rest * n + j]!;
        if (sum < series[at + i + j]!) series[at + i + j] = sum;
      }
    }
  }

  private addBody(at: number, part: number, rest: number): void {
    const { n, series, body } = this;
    const [a, b] = [bitCount(part) - 1, bitCount(rest) - 1];
    for (let i = 0; i <= a; i++) {
      const branch = series[part * n + i]!;
      if (i > 0 && branch === series[part * n + i - 1]) continue;
      for (let j = 0; j <= b; j++) {
        const most = Math.max(branch, body[rest * n + j]!);
        if (most < body[at + i + j + 1]!) body[at + i + j + 1] = most;
      }
    }
  }

  private build(set: number, copies: number): Series {
    const value = this.any[set * this.n + copies]!;
    if (this.series[set * this.n + copies] === value) return this.buildSeries(set, copies);
    return sideBySide(this.buildBranches(set, copies));
  }

  private buildSeries(set: number, copies: number): Series {
    if ((set & (set - 1)) === 0) return [{ kind: 'nf', nf: this.nfs[31 - Math.clz32(set)]! }];
    const { n, any } = this;
    if ((this.dependent[set]! & set) === 0) return inOrder(this.nfs.filter((_, i) => (set >> i) & 1));
    const value = this.series[set * n + copies]!;
    for (let part = (set - 1) & set; part !== 0; part = (part - 1) & set) {
      const rest = set ^ part;
      if ((this.blocked[part]! & rest) !== 0) continue;
      for (let i = 0; i <= copies; i++)
        if (any[part * n + i]! + any[rest * n + copies - i]! === value)
          return [...this.build(part, i), ...this.build(rest, copies - i)];
    }
    throw new Error('the program lost its own solution');
  }

  private buildBranches(set: number, copies: number): Series[] {
    const { n, series, body } = this;
    const value = body[set * n + copies]!;
    if (series[set * n + copies] === value) return [this.buildSeries(set, copies)];
    for (let part = (set - 1) & set; part !== 0; part = (part - 1) & set) {
      const rest = set ^ part;
      if ((part & set & -set) === 0 || (this.dependent[part]! & rest) !== 0) continue;
      for (let i = 0; i < copies; i++)
        if (Math.max(series[part * n + i]!, body[rest * n + copies - 1 - i]!) === value)
          return [this.buildSeries(part, i), ...this.buildBranches(rest, copies - 1 - i)];
    }
    throw new Error('the program lost its own solution');
  }
}

function bitCount(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count++;
  return count;
}
