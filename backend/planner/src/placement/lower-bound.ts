import type { Budget } from '../budget.js';
import { CORE_BUDGET } from '../igraph/sizing.js';
import type { PlacementProblem } from './problem.js';

/** Above this size only the cheaper bound is computed: a minimum cut takes cubic time. */
const MAX_MIN_CUT_ITEMS = 120;
/** Keeps a bound below the truth in spite of rounding. */
const ROUNDING = 1 - 1e-9;

/**
 * Traffic that crosses between servers in any placement, for each connected part of the graph the larger of:
 * - a part that needs more processor or memory than the largest server lies on m >= 2 servers, each of which cuts at
 *   least the part's minimum cut, and every crossing flow is cut by two: m / 2 minimum cuts (one at least);
 * - beside an item there is room for some of its neighbours only; the fractional knapsack says how much of its traffic
 *   can stay at best, and every crossing flow is counted at both of its ends.
 * Parts for which there is no time count nothing.
 */
export function crossTrafficBound(
  { items, flows, bins }: PlacementProblem,
  { expired }: Pick<Budget, 'expired'> = {},
): number {
  const cycles = bins.map(({ cores, hz }) => cores * hz * CORE_BUDGET);
  const memory = bins.map(({ memory_bytes }) => memory_bytes);
  const weight = items.map(() => new Map<number, number>());
  for (const { from, to, rate_bps } of flows) {
    if (from === to) continue;
    weight[from]!.set(to, (weight[from]!.get(to) ?? 0) + rate_bps);
    weight[to]!.set(from, (weight[to]!.get(from) ?? 0) + rate_bps);
  }
  let bound = 0;
  for (const part of components(weight)) {
    if (expired?.()) break;
    const needs = (of: (item: PlacementProblem['items'][number]) => number) =>
      part.reduce((sum, item) => sum + of(items[item]!), 0);
    const servers = Math.max(
      leastCount(
        needs((item) => item.cycles_per_second),
        cycles,
      ),
      leastCount(
        needs((item) => item.memory_bytes),
        memory,
      ),
    );
    if (servers < 2) continue;
    const spread = part.length <= MAX_MIN_CUT_ITEMS ? Math.max(1, servers / 2) * minimumCut(part, weight) : 0;
    const around = part.reduce((sum, item) => {
      const stays = Math.min(
        knapsack(item, weight[item]!, (i) => items[i]!.cycles_per_second, Math.max(0, ...cycles)),
        knapsack(item, weight[item]!, (i) => items[i]!.memory_bytes, Math.max(0, ...memory)),
      );
      return sum + ([...weight[item]!.values()].reduce((a, b) => a + b, 0) - stays) / 2;
    }, 0);
    bound += Math.max(spread, around, 0);
  }
  return bound * ROUNDING;
}

function components(weight: readonly ReadonlyMap<number, number>[]): number[][] {
  const seen = new Uint8Array(weight.length);
  const out: number[][] = [];
  for (let root = 0; root < weight.length; root++) {
    if (seen[root]) continue;
    const part = [root];
    seen[root] = 1;
    for (const item of part) {
      for (const [other, rate] of weight[item]!) {
        if (seen[other] || rate === 0) continue;
        seen[other] = 1;
        part.push(other);
      }
    }
    out.push(part);
  }
  return out;
}

/** The fewest bins whose capacities add up to the need; one more than there are when they do not. */
function leastCount(need: number, capacities: readonly number[]): number {
  let left = need * ROUNDING;
  let count = 0;
  for (const capacity of capacities.toSorted((a, b) => b - a)) {
    if (left <= 0) break;
    left -= capacity;
    count++;
  }
  return count;
}

/** The most traffic between an item and neighbours that fit beside it, when the last may be taken in part. */
function knapsack(
  item: number,
  neighbours: ReadonlyMap<number, number>,
  size: (item: number) => number,
  capacity: number,
): number {
  let room = capacity * (1 + 1e-9) - size(item);
  let value = 0;
  const ranked = [...neighbours].sort(([a, x], [b, y]) => y * size(a) - x * size(b));
  for (const [other, rate] of ranked) {
    const taken = size(other) <= room ? 1 : Math.max(0, room) / size(other);
    value += rate * taken;
    room -= size(other) * taken;
  }
  return value;
}

/** Weight of the lightest cut that divides the part in two (Stoer and Wagner 1997). */
function minimumCut(part: readonly number[], weight: readonly ReadonlyMap<number, number>[]): number {
  const n = part.length;
  const position = new Map(part.map((item, i) => [item, i]));
  const w = part.map((item) => {
    const row = new Float64Array(n);
    for (const [other, rate] of weight[item]!) {
      const j = position.get(other);
      if (j !== undefined) row[j] = rate;
    }
    return row;
  });
  const alive = [...part.keys()];
  let best = Number.POSITIVE_INFINITY;
  while (alive.length > 1) {
    const attached = new Float64Array(n);
    const left = [...alive];
    let last = -1;
    let beforeLast = -1;
    while (left.length > 0) {
      let pick = 0;
      for (let k = 1; k < left.length; k++) if (attached[left[k]!]! > attached[left[pick]!]!) pick = k;
      const [chosen] = left.splice(pick, 1) as [number];
      beforeLast = last;
      last = chosen;
      for (const other of left) attached[other]! += w[chosen]![other]!;
    }
    best = Math.min(best, attached[last]!);
    for (const other of alive) {
      w[beforeLast]![other]! += w[last]![other]!;
      w[other]![beforeLast] = w[beforeLast]![other]!;
    }
    alive.splice(alive.indexOf(last), 1);
  }
  return best;
}
