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
 * Ranges under which the instances that are to go get next to no new flows: one identity of the flow space each, for a range
 * cannot be empty. The others have those that they are left with, but for that.
 */
export function drainedRanges(now: readonly FlowRange[], instances: number): FlowRange[] {
  const left = scaledRanges(now, instances);
  const leaving = now.length - instances;
  const giver = widest(left);
  const { lo, hi } = left[giver]!;
  const from = hi - leaving;
  return [
    ...left.with(giver, { lo, hi: from }),
    ...Array.from({ length: leaving }, (_, i) => ({ lo: from + i, hi: from + i + 1 })),
  ];
}

/**
 * The same for the last instance alone, whose one identity is of its own range: so splits that hold a part of the flow space each,
 * of which one knows its flows in progress, go on to lead to it.
 */
export function drainedInPlace(now: readonly FlowRange[]): FlowRange[] {
  const left = scaledRanges(now, now.length - 1);
  const { lo, hi } = now.at(-1)!;
  // Where its heirs meet, or where its only heir ends or begins.
  const met = left.find((_, i) => now[i]!.hi === lo)?.hi ?? lo;
  const at = Math.min(met, hi - 1);
  return [
    ...left.map((range) => ({
      lo: range.lo === met ? at + 1 : range.lo,
      hi: range.hi === met ? at : range.hi,
    })),
    { lo: at, hi: at + 1 },
  ];
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
