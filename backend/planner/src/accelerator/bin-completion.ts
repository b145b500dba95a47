import type { Budget } from '../budget.js';
import type { Random } from '../random.js';
import { dimensionBound } from './bounds.js';
import { Completer } from './completion.js';
import { costOf, holds, type PackingModel } from './model.js';
import type { OpenDevice } from './problem.js';

/** Steps of one completion, and by how much values are perturbed between restarts. */
const COMPLETION_STEPS = 400;
const PERTURBATION = 0.3;
/** Packings from scratch before parts of the best one are repacked. */
const RESTARTS = 12;
/** Devices emptied at once when a part is repacked. */
const MOST_EMPTIED = 7;

/**
 * Packs by bin completion (Korf 2002) with perturbed values: the largest demand left opens a device, which the best
 * completion fills. After some restarts, a few devices of the best packing are emptied and repacked while the budget
 * lasts; results that are not worse are kept. `null`: some demand found no device in any attempt.
 */
export function binCompletion(model: PackingModel, random: Random, budget: Budget): OpenDevice[] | null {
  const search = new Search(model, random);
  const bound = dimensionBound(model);
  const expired = () => budget.expired?.() ?? false;
  const spent = () => search.steps >= budget.steps || expired();
  const all = Int32Array.from({ length: model.n }, (_, i) => i);
  let best: OpenDevice[] | null = null;
  let bestCost = Number.POSITIVE_INFINITY;
  for (let r = 0; r < RESTARTS && bestCost > bound && !(best === null ? expired() : spent()); r++) {
    const packed = search.pack(all, model.count, r === 0 ? 0 : PERTURBATION);
    if (!packed) continue;
    const cost = costOf(model, packed);
    if (cost >= bestCost) continue;
    best = packed;
    bestCost = cost;
  }
  if (!best) return null;
  let current = best;
  let score = search.fullness(current);
  while (bestCost > bound && best.length > 1 && !spent()) {
    const repacked = search.repackPart(current);
    if (!repacked) continue;
    const cost = costOf(model, repacked);
    const fullness = search.fullness(repacked);
    const better = cost < bestCost - 1e-9;
    if (!better && (cost > bestCost + 1e-9 || fullness < score - 1e-9)) continue;
    current = repacked;
    score = fullness;
    bestCost = Math.min(bestCost, cost);
  }
  return current;
}

class Search {
  private readonly weight: Float64Array;
  /** Weighted need of a demand at the type where it is least. */
  private readonly size: Float64Array;
  private readonly value: Float64Array;
  private readonly completer: Completer;
  private readonly sorted: Int32Array;
  private extra = 0;

  constructor(
    private readonly model: PackingModel,
    private readonly random: Random,
  ) {
    const { n } = model;
    this.weight = scarcity(model);
    this.size = new Float64Array(n);
    for (let i = 0; i < n; i++) this.size[i] = this.leastNeed(i);
    this.value = new Float64Array(n);
    this.completer = new Completer(model, this.weight);
    this.sorted = new Int32Array(n);
  }

  get steps(): number {
    return this.completer.steps + this.extra;
  }

  /** Packs demands on devices of which there are `count` by type. */
  pack(items: Int32Array, count: Int32Array, perturbation: number): OpenDevice[] | null {
    const { model, value, size, random, sorted } = this;
    let ratio = 0;
    for (const i of items) {
      const factor = 1 + perturbation * random();
      value[i] = size[i]! * factor;
      ratio = Math.max(ratio, factor);
    }
    sorted.set(items);
    const order = sorted.subarray(0, items.length).sort((a, b) => value[b]! - value[a]! || a - b);
    const left = count.slice();
    const devices: OpenDevice[] = [];
    let open = order.length;
    while (open > 0) {
      const first = order[0]!;
      order.copyWithin(0, 1, open);
      open--;
      const found = this.open(first, order, open, left, ratio);
      if (!found) return null;
      left[found.type]!--;
      devices.push(found);
      open = without(order, open, found.demands);
      this.extra += open + 1;
    }
    return this.cheapened(devices, left, model);
  }

  /** The device for `first` that gives most value for its cost; one that takes all that is open is chosen by cost. */
  private open(first: number, order: Int32Array, open: number, left: Int32Array, ratio: number): OpenDevice | null {
    const { n, m, cost, fits } = this.model;
    let best: OpenDevice | null = null;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (let t = 0; t < m; t++) {
      if (!fits[t * n + first] || left[t]! <= 0) continue;
      const worth = this.completer.complete(t, first, order, open, this.value, ratio, COMPLETION_STEPS);
      const last = this.completer.chosenCount === open + 1;
      const noise = m > 1 ? 1 + 0.1 * this.random() : 1;
      const score = last ? 1e12 / cost[t]! : (worth * noise) / cost[t]!;
      if (score <= bestScore) continue;
      bestScore = score;
      best = { type: t, demands: [...this.completer.chosen.subarray(0, this.completer.chosenCount)] };
    }
    return best;
  }

  /** Moves the contents of a device to a cheaper unused one. */
  private cheapened(devices: readonly OpenDevice[], left: Int32Array, model: PackingModel): OpenDevice[] {
    if (model.m === 1) return [...devices];
    return devices.map((device) => {
      let type = device.type;
      for (let t = 0; t < model.m; t++) {
        if (left[t]! > 0 && model.cost[t]! < model.cost[type]! && holds(model, t, device.demands)) type = t;
      }
      left[device.type]!++;
      left[type]!--;
      return { type, demands: device.demands };
    });
  }

  /** Empties a few devices, one of them loosely filled, and repacks their contents. */
  repackPart(devices: readonly OpenDevice[]): OpenDevice[] | null {
    const { random, model } = this;
    const emptied = Math.min(devices.length, 2 + Math.floor(random() * (MOST_EMPTIED - 1)));
    const picked = new Set<number>([this.looseOne(devices)]);
    while (picked.size < emptied) picked.add(Math.floor(random() * devices.length));
    const count = model.count.slice();
    const kept: OpenDevice[] = [];
    const items: number[] = [];
    devices.forEach((device, b) => {
      if (picked.has(b)) items.push(...device.demands);
      else {
        kept.push(device);
        count[device.type]!--;
      }
    });
    this.extra += items.length + devices.length;
    const packed = this.pack(Int32Array.from(items), count, PERTURBATION * 2 * random());
    return packed && [...kept, ...packed];
  }

  private looseOne(devices: readonly OpenDevice[]): number {
    let loosest = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < 3; tries++) {
      const b = Math.floor(this.random() * devices.length);
      const filled = this.filled(devices[b]!);
      if (filled < least) {
        least = filled;
        loosest = b;
      }
    }
    return loosest;
  }

  private filled({ demands }: OpenDevice): number {
    let sum = 0;
    for (const i of demands) sum += this.size[i]!;
    return sum;
  }

  /** Higher when some devices are full and others nearly empty: those are nearer to being saved. */
  fullness(devices: readonly OpenDevice[]): number {
    return devices.reduce((sum, device) => sum + this.filled(device) ** 2, 0);
  }

  private leastNeed(item: number): number {
    const { n, m, d, need, fits } = this.model;
    let least = Number.POSITIVE_INFINITY;
    for (let t = 0; t < m; t++) {
      if (!fits[t * n + item]) continue;
      let sum = 0;
      for (let k = 0; k < d; k++) sum += this.weight[k]! * need[(t * n + item) * d + k]!;
      least = Math.min(least, sum);
    }
    return Number.isFinite(least) ? least : 0;
  }
}

/** The part of each dimension in all that is needed: a dimension that nothing needs is worth nothing. */
function scarcity({ n, m, d, need, fits }: PackingModel): Float64Array {
  const weight = new Float64Array(d);
  for (let p = 0; p < m * n; p++) {
    if (fits[p]) for (let k = 0; k < d; k++) weight[k]! += need[p * d + k]!;
  }
  const total = weight.reduce((a, b) => a + b, 0);
  return total > 0 ? weight.map((it) => it / total) : weight.fill(1 / d);
}

/** Takes the chosen out of the ordered list; the new length. */
function without(order: Int32Array, open: number, chosen: readonly number[]): number {
  let kept = 0;
  for (let p = 0; p < open; p++) {
    if (!chosen.includes(order[p]!)) order[kept++] = order[p]!;
  }
  return kept;
}
