import { type Budget, requireTime } from '../budget.js';
import { type Random, shuffled } from '../random.js';
import type { Place, PlacementProblem } from './problem.js';
import { PlacementState } from './state.js';

/** Items in the order of a depth-first walk along the flows, from those that nothing in the graph feeds. */
export function depthFirstOrder(problem: PlacementProblem): number[] {
  const next: number[][] = problem.items.map(() => []);
  const fed = new Uint8Array(problem.items.length);
  for (const { from, to } of problem.flows) {
    next[from]!.push(to);
    fed[to] = 1;
  }
  const seen = new Uint8Array(problem.items.length);
  const order: number[] = [];
  const items = problem.items.keys();
  for (const root of [...items].sort((a, b) => fed[a]! - fed[b]! || a - b)) {
    const stack = [root];
    while (stack.length > 0) {
      const item = stack.pop()!;
      if (seen[item]) continue;
      seen[item] = 1;
      order.push(item);
      for (const to of next[item]!.toReversed()) if (!seen[to]) stack.push(to);
    }
  }
  return order;
}

/** A start for the search: `stuck` is the first item that found no server, or `null` when all are placed. */
export interface Packing {
  readonly state: PlacementState;
  readonly stuck: number | null;
}

/** Errors: `OutOfTime`. */
export type Packer = (state: PlacementState, order: readonly number[], time: Pick<Budget, 'expired'>) => number | null;

/** Puts the bound items where they run; of the others, those that only some servers host come first. */
export function pack(
  problem: PlacementProblem,
  pinned: readonly (Place | null)[],
  order: readonly number[],
  packer: Packer,
  time: Pick<Budget, 'expired'> = {},
): Packing {
  const state = new PlacementState(problem, pinned);
  pinned.forEach((place, item) => {
    if (place) state.tryAdd(item, place.bin);
  });
  const open = order.filter((item) => state.bin[item]! < 0);
  const isChoosy = (item: number) => problem.items[item]!.hosts !== undefined;
  const stuck = packer(state, [...open.filter(isChoosy), ...open.filter((item) => !isChoosy(item))], time);
  return { state, stuck };
}

/** E2's bin packing: fills a server as far as the order goes, then the next that has room (E2 3.4.1 step 4). */
export const fillInOrder: Packer = (state, order, time) => fillFrom(state, order, 0, time);

function fillFrom(
  state: PlacementState,
  order: readonly number[],
  start: number,
  time: Pick<Budget, 'expired'>,
): number | null {
  const bins = state.problem.bins.length;
  let current = start;
  for (const item of order) {
    requireTime(time);
    let tried = 0;
    while (tried < bins && !state.tryAdd(item, (current + tried) % bins)) tried++;
    if (tried === bins) return item;
    current = (current + tried) % bins;
  }
  return null;
}

/** Fills servers with one connected part of the graph after the other, each from the server that leaves it least cut. */
export const fillByParts: Packer = (state, order, time) => {
  const bins = state.problem.bins.length;
  let current = 0;
  for (const part of connectedParts(state, order)) {
    const mark = state.mark();
    let best: { cut: number; start: number } | null = null;
    let stuck = part[0]!;
    for (let k = 0; k < bins; k++) {
      const start = (current + k) % bins;
      const failed = fillFrom(state, part, start, time);
      if (failed !== null) stuck = failed;
      else if (!best || state.cut < best.cut) best = { cut: state.cut, start };
      state.rollback(mark);
      if (best && best.cut <= state.cut) break;
    }
    if (!best || fillFrom(state, part, best.start, time) !== null) return stuck;
    current = state.bin[part.at(-1)!]!;
  }
  return null;
};

function connectedParts(state: PlacementState, order: readonly number[]): number[][] {
  const part = new Map<number, number[]>();
  const parts: number[][] = [];
  const open = new Set(order);
  const { first, other } = state.adjacency;
  for (const root of order) {
    if (part.has(root)) continue;
    const members = [root];
    part.set(root, members);
    for (const item of members) {
      for (let k = first[item]!; k < first[item + 1]!; k++) {
        const neighbour = other[k]!;
        if (!open.has(neighbour) || part.has(neighbour)) continue;
        part.set(neighbour, members);
        members.push(neighbour);
      }
    }
    parts.push(members);
  }
  const position = new Map(order.map((item, i) => [item, i]));
  return parts.map((members) => members.sort((a, b) => position.get(a)! - position.get(b)!));
}

/** Each item on the first server with room. */
export const firstFit: Packer = (state, order, time) => {
  for (const item of order) {
    requireTime(time);
    let bin = 0;
    while (bin < state.problem.bins.length && !state.tryAdd(item, bin)) bin++;
    if (bin === state.problem.bins.length) return item;
  }
  return null;
};

/** Each item where it adds the least crossing traffic, then where most of the processor is free (E2 3.4.1). */
export const leastCrossTraffic: Packer = (state, order, time) => {
  const { bins } = state.problem;
  const free = bins.map(({ cores, hz }) => cores * hz);
  state.bin.forEach((bin, item) => {
    if (bin >= 0) free[bin]! -= state.problem.items[item]!.cycles_per_second;
  });
  for (const item of order) {
    requireTime(time);
    const near = (bin: number) => state.traffic[item * bins.length + bin]!;
    const ranked = [...bins.keys()].sort((a, b) => near(b) - near(a) || free[b]! - free[a]! || a - b);
    const chosen = ranked.find((bin) => state.tryAdd(item, bin));
    if (chosen === undefined) return item;
    free[chosen]! -= state.problem.items[item]!.cycles_per_second;
  }
  return null;
};

/** Each item on a uniformly random server with room. */
export function anywhere(random: Random): Packer {
  return (state, order, time) => {
    for (const item of order) {
      requireTime(time);
      if (!shuffled([...state.problem.bins.keys()], random).some((bin) => state.tryAdd(item, bin))) return item;
    }
    return null;
  };
}

/** Items by what they take of the scarcest resource, largest first: the order in which packings fail last. */
export function decreasingOrder(problem: PlacementProblem): number[] {
  const total = (of: (bin: PlacementProblem['bins'][number]) => number) =>
    Math.max(
      1,
      problem.bins.reduce((sum, bin) => sum + of(bin), 0),
    );
  const cycles = total(({ cores, hz }) => cores * hz);
  const memory = total(({ memory_bytes }) => memory_bytes);
  const link = total(({ link_bps }) => link_bps);
  const size = problem.items.map((item) =>
    Math.max(
      item.cycles_per_second / cycles,
      item.memory_bytes / memory,
      Math.max(item.outside_in_bps, item.outside_out_bps) / link,
    ),
  );
  return [...problem.items.keys()].sort((a, b) => size[b]! - size[a]! || a - b);
}
