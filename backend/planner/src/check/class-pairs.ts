import { DIRECT_ATTRIBUTES } from '@orrery/contract';
import type { Box } from './packet-space.js';

/** The least and the largest value of a box in one dimension. */
interface Span {
  readonly at: number;
  readonly lo: number;
  readonly hi: number;
}

/** Beyond so many pairs they are not listed: a list would take hundreds of megabytes. */
const MOST_LISTED = 4_000_000;

/**
 * For a box the earlier ones that may have packets in common with it, ascending: all that do, and others. Few where the
 * boxes differ in one attribute, as those of the classes of many chains do; `null` has no packets.
 */
export function earlierThatMayOverlap(boxes: readonly (Box | null)[]): (at: number) => readonly number[] {
  const [fewest] = DIRECT_ATTRIBUTES.map((attribute) => spansIn(boxes, attribute))
    .map((spans) => ({ spans, pairs: overlaps(spans) }))
    .sort((a, b) => a.pairs - b.pairs);
  if (fewest!.pairs > MOST_LISTED) return (at) => [...Array(at).keys()];
  const earlier = listed(fewest!.spans, boxes.length);
  return (at) => earlier[at]!;
}

function listed(spans: readonly Span[], count: number): readonly (readonly number[])[] {
  const earlier = Array.from({ length: count }, (): number[] => []);
  let open: Span[] = [];
  for (const span of spans) {
    open = open.filter(({ hi }) => hi >= span.lo);
    for (const { at } of open) earlier[Math.max(at, span.at)]!.push(Math.min(at, span.at));
    open.push(span);
  }
  return earlier.map((those) => those.sort((a, b) => a - b));
}

/** By their least value. */
function spansIn(boxes: readonly (Box | null)[], attribute: string): Span[] {
  return boxes
    .flatMap((box, at): Span[] => {
      if (box === null) return [];
      const set = box.get(attribute);
      if (!set) return [{ at, lo: Number.NEGATIVE_INFINITY, hi: Number.POSITIVE_INFINITY }];
      return set.length === 0 ? [] : [{ at, lo: set[0]![0], hi: set.at(-1)![1] }];
    })
    .sort((a, b) => Number(a.lo > b.lo) - Number(a.lo < b.lo));
}

/** How many pairs of the spans overlap. Precondition: they come by their least value. */
function overlaps(spans: readonly Span[]): number {
  const ends = spans.map(({ hi }) => hi).sort((a, b) => Number(a > b) - Number(a < b));
  let ended = 0;
  return spans.reduce((sum, { lo }, begun) => {
    while (ended < ends.length && ends[ended]! < lo) ended++;
    return sum + begun - ended;
  }, 0);
}
