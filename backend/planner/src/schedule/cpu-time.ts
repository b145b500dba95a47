import type { Mode } from './problem.js';
import { FREE, type Region, type Service } from './region.js';

/** Service below which a class counts as not served; the mean over all classes is 1. */
export const LEAST_SERVICE = 1e-9;

/**
 * Services that give every class its cycles, `sum of cycles * service = target` along its path, with at most as many
 * tasks as classes (Alpine 5.3.1) apart from forced ones. A task runs one class to completion and serves it just enough:
 * in the free mode the class that needs least, so that all others can have more later; in the constrained mode the one
 * that needs most, so that all others can have less later. What only free classes pass serves what arrives. Takes
 * O(classes * depth). Precondition of the constrained mode: `obstacle` found none.
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
    if (!region.binds[v]) {
      service[v] = up < 0 ? 1 : service[up]!;
      runs[v] = -1;
    } else if (stays) {
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
  let best = -1;
  let value = 0;
  for (let k = region.first[v]!; k < region.last[v]!; k++) {
    if (region.group[k] === FREE) continue;
    const other = needed(region, v, before, k);
    if (best >= 0 && (mode === 'free' ? other >= value : other <= value)) continue;
    best = k;
    value = other;
  }
  return best;
}

/** Classes of a region that keep a ratio; 1 by leaf. */
export function boundClasses({ group }: Region): Uint8Array {
  return Uint8Array.from(group, (it) => (it === FREE ? 0 : 1));
}

/** What may have been spent before the root of a region, and how that grows with the factor of each group. */
interface Slack {
  readonly most: number;
  readonly slope: Float64Array;
}

/**
 * The most that may have been spent before the root so that services that never rise along a path can give every
 * considered class its cycles, however many tasks there are: below 0 when they cannot. For each node it follows from that
 * of its children: at their least, the service must still be what the neediest class below asks for. Concave and
 * piecewise linear in the targets.
 */
export function slackOf(region: Region, considered: Uint8Array): Slack {
  const { parent, end, first, cycles, target, group, groups } = region;
  const n = parent.length;
  const most = new Float64Array(n).fill(Number.POSITIVE_INFINITY);
  const slope = new Float64Array(n * groups);
  for (let v = n - 1; v >= 0; v--) {
    const isLeaf = end[v] === v + 1;
    const k = first[v]!;
    if (isLeaf && considered[k]) {
      most[v] = target[k]! - cycles[v]! * LEAST_SERVICE;
      slope[v * groups + group[k]!] = target[k]!;
    }
    if (!isLeaf && most[v] !== Number.POSITIVE_INFINITY) {
      const after = most[v]!;
      const { least, needy, below } = leastService(region, v, after, considered);
      most[v] = after - cycles[v]! * least;
      if (needy >= 0) {
        const part = cycles[v]! / below;
        for (let g = 0; g < groups; g++) slope[v * groups + g]! *= 1 + part;
        slope[v * groups + group[needy]!]! -= part * target[needy]!;
      }
    }
    const up = parent[v]!;
    if (up >= 0 && most[v]! < most[up]!) {
      most[up] = most[v]!;
      for (let g = 0; g < groups; g++) slope[up * groups + g] = slope[v * groups + g]!;
    }
  }
  return { most: most[0]!, slope: slope.slice(0, groups) };
}

/** The service that the neediest class below `v` asks for when `after` was spent up to and with `v`. */
function leastService(region: Region, v: number, after: number, considered: Uint8Array) {
  let [least, needy, length] = [LEAST_SERVICE, -1, 1];
  for (let k = region.first[v]!; k < region.last[v]!; k++) {
    if (!considered[k]) continue;
    const below = region.depth[region.leaf[k]!]! - region.depth[v]!;
    const asked = (region.target[k]! - after) / below;
    if (asked > least) [least, needy, length] = [asked, k, below];
  }
  return { least, needy, below: length };
}
