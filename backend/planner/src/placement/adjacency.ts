import type { PlacementProblem } from './problem.js';

/** Flows by item in compressed rows: those of item i are `first[i]` up to `first[i + 1]`. */
export interface Adjacency {
  readonly first: Int32Array;
  readonly other: Int32Array;
  readonly rate_bps: Float64Array;
  /** 1 where the item is the flow's source. */
  readonly outgoing: Uint8Array;
}

const known = new WeakMap<PlacementProblem, Adjacency>();

/** The same object for the same problem: a search makes many states of one problem. */
export function adjacencyOf(problem: PlacementProblem): Adjacency {
  const before = known.get(problem);
  if (before) return before;
  const { items, flows } = problem;
  const first = new Int32Array(items.length + 1);
  for (const { from, to } of flows) {
    first[from + 1]!++;
    first[to + 1]!++;
  }
  for (let i = 0; i < items.length; i++) first[i + 1]! += first[i]!;
  const next = first.slice();
  const other = new Int32Array(2 * flows.length);
  const rate_bps = new Float64Array(2 * flows.length);
  const outgoing = new Uint8Array(2 * flows.length);
  for (const flow of flows) {
    const out = next[flow.from]!++;
    other[out] = flow.to;
    rate_bps[out] = flow.rate_bps;
    outgoing[out] = 1;
    const into = next[flow.to]!++;
    other[into] = flow.from;
    rate_bps[into] = flow.rate_bps;
  }
  const adjacency = { first, other, rate_bps, outgoing };
  known.set(problem, adjacency);
  return adjacency;
}
