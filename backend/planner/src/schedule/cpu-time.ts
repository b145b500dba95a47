import type { Mode } from './problem.js';
import type { Region, Service } from './region.js';

/** Service below which a class counts as not served; the mean over all classes is 1. */
export const LEAST_SERVICE = 1e-9;

/**
 * Services that give every class its cycles, `sum of cycles * service = target` along its path, with at most as many
 * tasks as classes (Alpine 5.3.1) apart from forced ones. A task runs one class to completion and serves it just enough:
 * in the free mode the class that needs least, so that all others can have more later; in the constrained mode the one
 * that needs most, so that all others can have less later. Takes O(classes * depth).
 * Precondition of the constrained mode: `obstacle` found none.
 */
export function constructServices(region: Region, mode: Mode): Service {
  const n = region.parent.length;
  const service = new Float64Array(n);
  const spent = new Float64Array(n);
  const runs = new Int32Array(n);
  for (let v = 0; v < n; v++) {
    const up = region.parent[v]!;
    const before = up < 0 ? 0 : spent[up]!;
    const stays = up >= 0 && !region.forced[v] && region.first[v]! <= runs[up]! && runs[up]! < region.last[v]!;
    if (stays) {
      service[v] = service[up]!;
      runs[v] = runs[up]!;
    } else {
      runs[v] = pick(region, v, before, mode);
      service[v] = needed(region, v, before, runs[v]!);
    }
    spent[v] = before + region.cycles[v]! * service[v]!;
  }
  return service;
}

/** Service that class `k` of the region needs from `v` on if nothing changes it further down. */
function needed(region: Region, v: number, before: number, k: number): number {
  const up = region.parent[v]!;
  const below = region.depth[region.leaf[k]!]! - (up < 0 ? 0 : region.depth[up]!);
  return (region.target[k]! - before) / below;
}

function pick(region: Region, v: number, before: number, mode: Mode): number {
  let best = region.first[v]!;
  let value = needed(region, v, before, best);
  for (let k = best + 1; k < region.last[v]!; k++) {
    const other = needed(region, v, before, k);
    if (mode === 'free' ? other >= value : other <= value) continue;
    best = k;
    value = other;
  }
  return best;
}

/** Where the constrained mode fails: at `node` the classes left over have been charged more than they may be. */
interface Obstacle {
  readonly node: number;
  readonly excess: number;
}

/**
 * Whether services that never rise along a path can give every class its cycles, however many tasks there are; `null`
 * when they can. For each node the most that may have been spent before it follows from that of its children: at their
 * least, the service must still be what the neediest class below asks for. `considered` leaves classes out.
 */
export function obstacle(region: Region, considered?: Uint8Array): Obstacle | null {
  const n = region.parent.length;
  const most = new Float64Array(n).fill(Number.POSITIVE_INFINITY);
  for (let v = n - 1; v >= 0; v--) {
    const isLeaf = region.end[v] === v + 1;
    const k = region.first[v]!;
    if (isLeaf && (!considered || considered[k])) most[v] = region.target[k]! - region.cycles[v]! * LEAST_SERVICE;
    if (!isLeaf && most[v] !== Number.POSITIVE_INFINITY) {
      const after = most[v]!;
      most[v] = after - region.cycles[v]! * leastService(region, v, after, considered);
    }
    const up = region.parent[v]!;
    if (up >= 0) most[up] = Math.min(most[up]!, most[v]!);
  }
  return most[0]! >= 0 ? null : { node: 0, excess: -most[0]! };
}

/** The service that the neediest class below `v` asks for when `after` was spent up to and with `v`. */
function leastService(region: Region, v: number, after: number, considered?: Uint8Array): number {
  let least = LEAST_SERVICE;
  for (let k = region.first[v]!; k < region.last[v]!; k++) {
    if (considered && !considered[k]) continue;
    const below = region.depth[region.leaf[k]!]! - region.depth[v]!;
    least = Math.max(least, (region.target[k]! - after) / below);
  }
  return least;
}
