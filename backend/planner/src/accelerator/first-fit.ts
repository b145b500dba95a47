import { type Random, shuffled } from '../random.js';
import { costOf, type PackingModel, TOLERANCE } from './model.js';
import type { OpenDevice } from './problem.js';

/** First-fit decreasing on the first dimension, which is TCAM in HYPER VII-D. */
export function firstFitDecreasing(model: PackingModel): OpenDevice[] | null {
  return firstFit(
    model,
    decreasing(model, (part) => part[0]!),
  );
}

/** The best of first-fit decreasing on the first dimension, on throughput, and on the sum of all. */
export function bestOfThreeFirstFits(model: PackingModel): OpenDevice[] | null {
  const keys = [
    (part: Float64Array) => part[0]!,
    (part: Float64Array) => part[part.length - 1]!,
    (part: Float64Array) => part.reduce((a, b) => a + b, 0),
  ];
  const packings = keys.flatMap((key) => {
    const packed = firstFit(model, decreasing(model, key));
    return packed ? [packed] : [];
  });
  return packings.sort((a, b) => costOf(model, a) - costOf(model, b))[0] ?? null;
}

export function firstFitInOrder(model: PackingModel): OpenDevice[] | null {
  return firstFit(
    model,
    Array.from({ length: model.n }, (_, i) => i),
  );
}

/** Each demand on any open device with room, every one as likely; a new one when there is none. */
export function anyFit(model: PackingModel, random: Random): OpenDevice[] | null {
  const items = shuffled(
    Array.from({ length: model.n }, (_, i) => i),
    random,
  );
  return fill(model, items, (open) => shuffled(open, random));
}

function firstFit(model: PackingModel, order: readonly number[]): OpenDevice[] | null {
  return fill(model, order, (open) => open);
}

interface Filling {
  readonly type: number;
  readonly demands: number[];
  readonly used: Float64Array;
}

/** `null`: a demand found no device. A new device is the cheapest that carries the demand. */
function fill(
  model: PackingModel,
  order: readonly number[],
  ranked: (open: readonly Filling[]) => readonly Filling[],
): OpenDevice[] | null {
  const left = model.count.slice();
  const open: Filling[] = [];
  for (const item of order) {
    let device = ranked(open).find((it) => hasRoom(model, it, item));
    if (!device) {
      const type = cheapestFor(model, item, left);
      if (type < 0) return null;
      left[type]!--;
      device = { type, demands: [], used: new Float64Array(model.d) };
      open.push(device);
    }
    device.demands.push(item);
    for (let k = 0; k < model.d; k++) device.used[k]! += model.need[(device.type * model.n + item) * model.d + k]!;
  }
  return open.map(({ type, demands }) => ({ type, demands }));
}

function hasRoom({ n, d, need, fits }: PackingModel, { type, used }: Filling, item: number): boolean {
  if (!fits[type * n + item]) return false;
  for (let k = 0; k < d; k++) if (used[k]! + need[(type * n + item) * d + k]! > 1 + TOLERANCE) return false;
  return true;
}

function cheapestFor({ n, m, cost, fits }: PackingModel, item: number, left: Int32Array): number {
  let best = -1;
  for (let t = 0; t < m; t++) {
    if (left[t]! > 0 && fits[t * n + item] && (best < 0 || cost[t]! < cost[best]!)) best = t;
  }
  return best;
}

/** Demands by a key of the parts that they take of the type that they fit, largest first. */
function decreasing({ n, m, d, need, fits }: PackingModel, key: (part: Float64Array) => number): number[] {
  const size = Array.from({ length: n }, (_, i) => {
    for (let t = 0; t < m; t++) if (fits[t * n + i]) return key(need.subarray((t * n + i) * d, (t * n + i + 1) * d));
    return 0;
  });
  return Array.from({ length: n }, (_, i) => i).sort((a, b) => size[b]! - size[a]! || a - b);
}
