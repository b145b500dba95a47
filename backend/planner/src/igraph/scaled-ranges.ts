import type { FlowRange } from '@orrery/contract';
import { equalRanges } from './flow-range.js';

/** Flows that go from one instance to another, by ordinal, when ranges change. */
export interface RangeMove extends FlowRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The ranges of so many instances, from those of now by ordinal, with the least that changes hands. Each new instance takes
 * the upper half of a range (E2 3.4.4): of the instance `first`, then of whichever has the widest. The instances with the
 * highest ordinals go; neighbours share what they leave so that they become as equal as that makes them.
 * Precondition: the ranges partition the flow space.
 */
export function scaledRanges(now: readonly FlowRange[], instances: number, first?: number): FlowRange[] {
  let ranges = now.length === 0 ? equalRanges(1) : [...now];
  while (ranges.length > instances) ranges = withoutLast(ranges);
  while (ranges.length < instances) {
    const asked = ranges.length === now.length ? first : undefined;
    const split = asked !== undefined && width(ranges[asked]!) > 1 ? asked : widest(ranges);
    const { lo, hi } = ranges[split]!;
    const middle = lo + Math.ceil((hi - lo) / 2);
    ranges = [...ranges.with(split, { lo, hi: middle }), { lo: middle, hi }];
  }
  return ranges;
}

/**
 * Ranges under which the instances that are to go get next to no new flows: one identity each, for a range cannot be empty. None
 * is of an instance that stays, and that of an instance which goes alone is its own: splits that hold a part of the flow space
 * each, of which one knows its flows in progress, go on to lead to it. The others have the ranges that they are left with, but for
 * that, so identities lie where the heirs of neighbours that go meet.
 */
export function drainedRanges(now: readonly FlowRange[], instances: number): FlowRange[] {
  const drained = scaledRanges(now, instances);
  for (const run of leavingSideBySide(now, instances)) {
    const { lo } = now[run[0]!]!;
    const { hi } = now[run.at(-1)!]!;
    const heirs = [...drained.keys()].slice(0, instances);
    const below = heirs.find((i) => now[i]!.hi === lo);
    const above = heirs.find((i) => now[i]!.lo === hi);
    const met = below === undefined ? lo : drained[below]!.hi;
    const first = Math.min(Math.max(lo, met - Math.floor(run.length / 2)), hi - run.length);
    if (below !== undefined) drained[below] = { lo: drained[below]!.lo, hi: first };
    if (above !== undefined) drained[above] = { lo: first + run.length, hi: drained[above]!.hi };
    for (const [ordinal, lowest] of identities(now, run, first)) drained[ordinal] = { lo: lowest, hi: lowest + 1 };
  }
  return drained;
}

/** What changes hands between instances; what has no instance any more or had none is left out. */
export function rangeMoves(before: readonly FlowRange[], after: readonly FlowRange[]): RangeMove[] {
  return before.flatMap((was, from) =>
    after.flatMap((is, to): RangeMove[] => {
      const [lo, hi] = [Math.max(was.lo, is.lo), Math.min(was.hi, is.hi)];
      return from !== to && lo < hi ? [{ from, to, lo, hi }] : [];
    }),
  );
}

/** The ordinals that are to go, in groups whose ranges touch, each in the order of its ranges. */
function leavingSideBySide(now: readonly FlowRange[], instances: number): number[][] {
  const leaving = [...now.keys()].slice(instances).sort((a, b) => now[a]!.lo - now[b]!.lo);
  const runs: number[][] = [];
  for (const ordinal of leaving) {
    const run = runs.at(-1);
    if (run && now[run.at(-1)!]!.hi === now[ordinal]!.lo) run.push(ordinal);
    else runs.push([ordinal]);
  }
  return runs;
}

/** One identity, from the first on, for each: of its own range where there is one. */
function identities(now: readonly FlowRange[], run: readonly number[], first: number): Map<number, number> {
  const given = new Map<number, number>();
  const open: number[] = [];
  for (let at = first; at < first + run.length; at++) {
    const owner = run.find((ordinal) => now[ordinal]!.lo <= at && at < now[ordinal]!.hi)!;
    if (given.has(owner)) open.push(at);
    else given.set(owner, at);
  }
  for (const ordinal of run) if (!given.has(ordinal)) given.set(ordinal, open.shift()!);
  return given;
}

function withoutLast(ranges: readonly FlowRange[]): FlowRange[] {
  const { lo, hi } = ranges.at(-1)!;
  const rest = ranges.slice(0, -1);
  const below = rest.findIndex((range) => range.hi === lo);
  const above = rest.findIndex((range) => range.lo === hi);
  const freed = hi - lo;
  const toBelow = () => Math.round((width(rest[above]!) + freed - width(rest[below]!)) / 2);
  const share = below < 0 ? 0 : above < 0 ? freed : toBelow();
  const cut = lo + Math.min(freed, Math.max(0, share));
  return rest.map((range, i) => {
    if (i === below) return { lo: range.lo, hi: cut };
    return i === above ? { lo: cut, hi: range.hi } : range;
  });
}

function widest(ranges: readonly FlowRange[]): number {
  let best = 0;
  for (const [i, range] of ranges.entries()) if (width(range) > width(ranges[best]!)) best = i;
  return best;
}

function width({ lo, hi }: FlowRange): number {
  return hi - lo;
}
