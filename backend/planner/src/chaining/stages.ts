import { isAble, type PreparedNetwork } from './network.js';
import type { ChainRequest } from './problem.js';

/**
 * The latency of the shortest path over candidates that run (or over all), infinite when there is none; the path is left
 * in `scratch.path`. Stage by stage, O(n * Smax^2) (HYPER IV-B, Algorithm 1), mended in two places: the way from the
 * last instance to the egress counts, and a way in is compared before latency_p is added to it. A candidate that alone
 * lacks throughput or capacity is infinitely far from the start (step 3 for one node).
 */
export function shortestPath(network: PreparedNetwork, request: ChainRequest, withOptions: boolean): number {
  const { nodes, node, latency_us, transit_us, running, byFunction, candidates, scratch } = network;
  const { forward, before, path } = scratch;
  const { functions, throughput_bps: rate } = request;
  const stages = functions.length;
  for (let k = 0; k < stages; k++) {
    const here = byFunction[functions[k]!]!;
    const previous = k > 0 ? byFunction[functions[k - 1]!]! : null;
    for (let p = 0; p < here.length; p++) {
      const c = here[p]!;
      const cell = k * candidates + p;
      forward[cell] = Number.POSITIVE_INFINITY;
      if (!(withOptions || running[c]) || !isAble(network, c, rate)) continue;
      const at = node[c]!;
      let least = Number.POSITIVE_INFINITY;
      if (previous === null) least = transit_us[request.ingress * nodes + at]!;
      else {
        const row = (k - 1) * candidates;
        for (let q = 0; q < previous.length; q++) {
          const way = forward[row + q]! + transit_us[node[previous[q]!]! * nodes + at]!;
          if (way < least) {
            least = way;
            before[cell] = q;
          }
        }
      }
      forward[cell] = least + latency_us[c]!;
    }
  }
  const last = byFunction[functions[stages - 1]!]!;
  let best = Number.POSITIVE_INFINITY;
  let chosen = -1;
  for (let p = 0; p < last.length; p++) {
    const total = forward[(stages - 1) * candidates + p]! + transit_us[node[last[p]!]! * nodes + request.egress]!;
    if (total < best) {
      best = total;
      chosen = p;
    }
  }
  for (let k = stages - 1; k >= 0 && chosen >= 0; k--) {
    path[k] = byFunction[functions[k]!]![chosen]!;
    if (k > 0) chosen = before[k * candidates + chosen]!;
  }
  return best;
}

/**
 * Fills `scratch.backward` with the least latency from each candidate (its own excluded) to the egress, and
 * `scratch.after` with the next on the way. Candidates that alone lack something are infinitely far from the end, unless
 * their stage is lifted.
 */
export function remainingLatency(
  network: PreparedNetwork,
  request: ChainRequest,
  withOptions: boolean,
  lifted: Uint8Array | null,
): void {
  const { nodes, node, latency_us, transit_us, running, byFunction, candidates, scratch } = network;
  const { backward, after } = scratch;
  const { functions, throughput_bps: rate } = request;
  for (let k = functions.length - 1; k >= 0; k--) {
    const here = byFunction[functions[k]!]!;
    const next = k + 1 < functions.length ? byFunction[functions[k + 1]!]! : null;
    const row = (k + 1) * candidates;
    for (let p = 0; p < here.length; p++) {
      const c = here[p]!;
      const cell = k * candidates + p;
      backward[cell] = Number.POSITIVE_INFINITY;
      if (!(withOptions || running[c]) || !(lifted?.[k] || isAble(network, c, rate))) continue;
      const from = node[c]! * nodes;
      if (next === null) {
        backward[cell] = transit_us[from + request.egress]!;
        continue;
      }
      let least = Number.POSITIVE_INFINITY;
      for (let q = 0; q < next.length; q++) {
        const way = transit_us[from + node[next[q]!]!]! + latency_us[next[q]!]! + backward[row + q]!;
        if (way < least) {
          least = way;
          after[cell] = q;
        }
      }
      backward[cell] = least;
    }
  }
}
