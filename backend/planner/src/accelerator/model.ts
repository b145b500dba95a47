import type { AcceleratorProblem, OpenDevice } from './problem.js';

/** Rounding tolerance, relative to a capacity. */
export const TOLERANCE = 1e-9;

/**
 * A problem in flat arrays. Throughput is the last dimension; every capacity is 1, so that `need[(t * n + i) * d + k]`
 * is the part of dimension k of a device of type t that demand i takes.
 */
export interface PackingModel {
  /** Demands, types, dimensions. */
  readonly n: number;
  readonly m: number;
  readonly d: number;
  readonly need: Float64Array;
  /** In units of `unit`, the dearest between 1 and 2: tolerances are the same whatever costs are measured in. */
  readonly cost: Float64Array;
  /** A power of two. */
  readonly unit: number;
  readonly count: Int32Array;
  /** 1 at `t * n + i` where an empty device of type t can carry demand i. */
  readonly fits: Uint8Array;
  /** Every cost of a packing is a multiple of it; 0 when none is known. */
  readonly grain: number;
}

export function modelOf({ dimensions, types, demands }: AcceleratorProblem): PackingModel {
  const n = demands.length;
  const m = types.length;
  const d = dimensions.length + 1;
  const need = new Float64Array(m * n * d);
  const fits = new Uint8Array(m * n);
  types.forEach((type, t) => {
    const carries = new Set(type.functions);
    demands.forEach((demand, i) => {
      const at = (t * n + i) * d;
      for (let k = 0; k < d - 1; k++) need[at + k] = demand.need[k]! / type.capacity[k]!;
      need[at + d - 1] = demand.throughput_bps / type.throughput_bps;
      const alone = need.subarray(at, at + d).every((part) => part <= 1 + TOLERANCE);
      const able = alone && carries.has(demand.function) && type.latency_us <= demand.latency_us && type.count > 0;
      fits[t * n + i] = able ? 1 : 0;
    });
  });
  const dearest = Math.max(...types.map(({ cost }) => cost));
  const unit = types.length > 0 ? 2 ** Math.floor(Math.log2(dearest)) : 1;
  return {
    n,
    m,
    d,
    need,
    cost: Float64Array.from(types, ({ cost }) => cost / unit),
    unit,
    count: Int32Array.from(types, ({ count }) => Math.min(count, n)),
    fits,
    grain: grainOf(types.map(({ cost }) => cost)) / unit,
  };
}

/** The greatest common divisor of whole costs, or the only cost there is. */
function grainOf(costs: readonly number[]): number {
  const different = [...new Set(costs)];
  if (different.length === 1) return different[0]!;
  if (!different.every((cost) => Number.isSafeInteger(cost))) return 0;
  return different.reduce((a, b) => {
    let [x, y] = [a, b];
    while (y > 0) [x, y] = [y, x % y];
    return x;
  }, 0);
}

/** The smallest possible cost of a packing that is at least `bound`. */
export function roundedUp(bound: number, grain: number): number {
  return grain > 0 ? Math.ceil(bound / grain - 1e-6) * grain : bound;
}

/** In units of the model. */
export function costOf({ cost }: PackingModel, devices: readonly OpenDevice[]): number {
  return devices.reduce((sum, { type }) => sum + cost[type]!, 0);
}

/** Whether demands fit together on one device of a type. */
export function holds({ n, d, need, fits }: PackingModel, type: number, demands: readonly number[]): boolean {
  for (const i of demands) if (!fits[type * n + i]) return false;
  for (let k = 0; k < d; k++) {
    let used = 0;
    for (const i of demands) used += need[(type * n + i) * d + k]!;
    if (used > 1 + TOLERANCE) return false;
  }
  return true;
}
