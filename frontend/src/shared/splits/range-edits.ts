import { FLOW_SPACE, type FlowRange } from '@orrery/contract';

/** The flow space cut into one range for each instance. */
export interface Cut {
  /** Instances in the order of their ranges. */
  readonly order: readonly number[];
  /** Where one range ends and the next begins, ascending. */
  readonly borders: readonly number[];
}

/** Precondition: the ranges, by instance, partition the flow space. */
export function cutOf(ranges: readonly FlowRange[]): Cut {
  const order = ranges.map((_, i) => i).sort((a, b) => ranges[a]!.lo - ranges[b]!.lo);
  return { order, borders: order.slice(0, -1).map((i) => ranges[i]!.hi) };
}

/** By instance. */
export function rangesOf({ order, borders }: Cut): FlowRange[] {
  const ranges: FlowRange[] = [];
  order.forEach((instance, i) => {
    ranges[instance] = { lo: borders[i - 1] ?? 0, hi: borders[i] ?? FLOW_SPACE };
  });
  return ranges;
}

/** With a border elsewhere, at most as far as leaves something to both of its ranges. */
export function withBorder({ order, borders }: Cut, index: number, to: number): Cut {
  const { lo, hi } = roomOf({ order, borders }, index);
  const at = Math.round(Math.min(hi, Math.max(lo, to)));
  return { order, borders: borders.map((border, i) => (i === index ? at : border)) };
}

/** From where to where a border can be moved. */
export function roomOf({ borders }: Cut, index: number): { lo: number; hi: number } {
  return { lo: (borders[index - 1] ?? 0) + 1, hi: (borders[index + 1] ?? FLOW_SPACE) - 1 };
}

/** The same order with equal ranges. */
export function evenly({ order }: Cut): Cut {
  const n = order.length;
  return { order, borders: order.slice(1).map((_, i) => Math.floor(((i + 1) * FLOW_SPACE) / n)) };
}
