import { BadProblem, requireAtLeast, requireIndex } from '../bad-problem.js';
import { type Random, seededRandom, shuffled } from '../random.js';
import type { Demand, Dimension, Shortage } from './problem.js';
import { exceeds, smallest } from './reasons.js';

/** A running device with its free capacity. */
interface RunningDevice {
  readonly id: string;
  readonly latency_us: number;
  readonly functions: readonly number[];
  readonly capacity: readonly number[];
  readonly capacity_free: readonly number[];
  readonly throughput_bps: number;
  readonly throughput_free_bps: number;
}

/** Devices in order, with the names of what their figures count. */
export interface Fleet {
  readonly functions: readonly string[];
  readonly dimensions: readonly Dimension[];
  readonly devices: readonly RunningDevice[];
}

type OnlineStrategy = 'best-fit' | 'first-fit' | 'least-used' | 'least-busy' | 'random';

/** How a strategy ranks a feasible device; the largest is taken, the first among equals. */
const STRATEGIES: Record<OnlineStrategy, (device: RunningDevice, demand: Demand, place: number) => number> = {
  'best-fit': fitness,
  'first-fit': () => 0,
  'least-used': ({ capacity, capacity_free }) => Math.min(...capacity.map((total, k) => capacity_free[k]! / total), 1),
  'least-busy': ({ throughput_bps, throughput_free_bps }) => throughput_free_bps / throughput_bps,
  random: (_, __, place) => -place,
};

export const ONLINE_STRATEGIES = Object.keys(STRATEGIES) as OnlineStrategy[];

interface OnlineCandidate {
  readonly device: number;
  readonly chosen: boolean;
  /** `null` for a device that cannot take the demand. */
  readonly fitness: number | null;
  /** The first constraint that rules out the device. */
  readonly constraint: Shortage | null;
}

interface OnlinePlacement {
  /** Index of the device; `null`: none can take the demand. */
  readonly device: number | null;
  readonly fitness: number | null;
  /** No feasible device fits more closely; with `best-fit` the choice reaches it, proven by the pass over all devices. */
  readonly best_fitness: number | null;
  readonly candidates: readonly OnlineCandidate[];
  /** One shortage a device, of the fewest kinds of constraints that forbid all; empty when one was chosen. */
  readonly conflicts: readonly Shortage[];
}

/**
 * (alpha / eps_hf) * (gamma / eta_hf): 1 where the demand takes all that is free (HYPER V-B). With several resources each
 * gives a factor; one of which the demand needs nothing gives none.
 */
export function fitness(device: RunningDevice, demand: Demand): number {
  let product = demand.throughput_bps > 0 ? demand.throughput_bps / device.throughput_free_bps : 1;
  demand.need.forEach((need, k) => {
    if (need > 0) product *= need / device.capacity_free[k]!;
  });
  return product;
}

/**
 * What forbids a device: feasible is latency_h <= beta, alpha <= eps_hf and gamma <= eta_hf. The document prints the last
 * two the other way round, and against the whole capacity in place of what is free (HYPER V-B).
 */
function forbidding({ functions, dimensions }: Fleet, device: RunningDevice, demand: Demand): Shortage[] {
  const where = device.id;
  const out: Shortage[] = [];
  if (!device.functions.includes(demand.function))
    out.push({ constraint: 'function', needed: 1, available: 0, unit: functions[demand.function]!, where });
  if (device.latency_us > demand.latency_us)
    out.push({ constraint: 'latency', needed: device.latency_us, available: demand.latency_us, unit: 'us', where });
  dimensions.forEach(({ name, unit }, k) => {
    const available = device.capacity_free[k]!;
    if (exceeds(demand.need[k]!, available))
      out.push({ constraint: name, needed: demand.need[k]!, available, unit, where });
  });
  const needed = demand.throughput_bps;
  const available = device.throughput_free_bps;
  if (exceeds(needed, available)) out.push({ constraint: 'throughput', needed, available, unit: 'bps', where });
  return out;
}

/** Chooses a device for one demand in one pass; does not modify the fleet. Errors: `BadProblem`. */
export function placeOnline(
  fleet: Fleet,
  demand: Demand,
  { strategy, seed }: { readonly strategy: OnlineStrategy; readonly seed: number },
): OnlinePlacement {
  checkFleet(fleet);
  checkNeed(fleet, demand);
  const places = strategy === 'random' ? placesOf(fleet.devices.length, seededRandom(seed)) : null;
  let chosen: number | null = null;
  let rank = Number.NEGATIVE_INFINITY;
  let best: number | null = null;
  const against = fleet.devices.map((device, h) => {
    const forbids = forbidding(fleet, device, demand);
    if (forbids.length > 0) return forbids;
    best = Math.max(best ?? 0, fitness(device, demand));
    const mine = STRATEGIES[strategy](device, demand, places?.[h] ?? h);
    if (mine > rank) {
      rank = mine;
      chosen = h;
    }
    return forbids;
  });
  const candidates = against.map((forbids, h) => ({
    device: h,
    chosen: h === chosen,
    fitness: forbids.length === 0 ? fitness(fleet.devices[h]!, demand) : null,
    constraint: forbids[0] ?? null,
  }));
  return {
    device: chosen,
    fitness: chosen === null ? null : candidates[chosen]!.fitness,
    best_fitness: best,
    candidates,
    conflicts: chosen === null ? conflictsOf(against) : [],
  };
}

function placesOf(count: number, random: Random): number[] {
  const places = new Array<number>(count);
  shuffled(
    Array.from({ length: count }, (_, h) => h),
    random,
  ).forEach((h, place) => {
    places[h] = place;
  });
  return places;
}

function conflictsOf(against: readonly (readonly Shortage[])[]): Shortage[] {
  if (against.length === 0)
    return [{ constraint: 'count', needed: 1, available: 0, unit: 'devices', where: 'all devices' }];
  const kinds = [...new Set(against.flat().map(({ constraint }) => constraint))];
  const cover = smallest(kinds, (set) => against.every((list) => list.some((it) => set.includes(it.constraint))))!;
  return against.map((list) => list.find((it) => cover.includes(it.constraint))!);
}

/** The fleet once a device has taken a demand. Errors: `BadProblem` when it cannot take it. */
export function withDemand(fleet: Fleet, device: number, demand: Demand): Fleet {
  return changed(fleet, device, demand, -1);
}

/** The fleet once a demand has left its device. Errors: `BadProblem` when it gives back more than was taken. */
export function withoutDemand(fleet: Fleet, device: number, demand: Demand): Fleet {
  return changed(fleet, device, demand, 1);
}

function changed(fleet: Fleet, index: number, demand: Demand, sign: 1 | -1): Fleet {
  checkFleet(fleet);
  checkNeed(fleet, demand);
  requireIndex('/device', index, fleet.devices.length);
  const device = fleet.devices[index]!;
  if (sign < 0 && forbidding(fleet, device, demand).length > 0)
    throw new BadProblem('/device', 'cannot take the demand');
  const free = (now: number, by: number, total: number, name: string) => {
    const next = now + sign * by;
    if (exceeds(next, total)) throw new BadProblem('/device', `would have more ${name} than it ever had`);
    return Math.min(total, Math.max(0, next));
  };
  const next: RunningDevice = {
    ...device,
    capacity_free: device.capacity_free.map((it, k) =>
      free(it, demand.need[k]!, device.capacity[k]!, fleet.dimensions[k]!.name),
    ),
    throughput_free_bps: free(device.throughput_free_bps, demand.throughput_bps, device.throughput_bps, 'throughput'),
  };
  return { ...fleet, devices: fleet.devices.map((it, h) => (h === index ? next : it)) };
}

function checkFleet({ functions, dimensions, devices }: Fleet): void {
  devices.forEach((device, h) => {
    const at = `/devices/${h}`;
    requireAtLeast(`${at}/latency_us`, device.latency_us, 0);
    requireAtLeast(`${at}/throughput_bps`, device.throughput_bps, 0, true);
    requireAtLeast(`${at}/throughput_free_bps`, device.throughput_free_bps, 0);
    if (device.capacity.length !== dimensions.length || device.capacity_free.length !== dimensions.length)
      throw new BadProblem(`${at}/capacity`, `must have ${dimensions.length} entries`);
    device.capacity.forEach((total, k) => {
      requireAtLeast(`${at}/capacity/${k}`, total, 0, true);
      requireAtLeast(`${at}/capacity_free/${k}`, device.capacity_free[k]!, 0);
    });
    device.functions.forEach((f, k) => {
      requireIndex(`${at}/functions/${k}`, f, functions.length);
    });
  });
}

function checkNeed({ functions, dimensions }: Fleet, demand: Demand): void {
  requireIndex('/demand/function', demand.function, functions.length);
  if (demand.need.length !== dimensions.length)
    throw new BadProblem('/demand/need', `must have ${dimensions.length} entries`);
  demand.need.forEach((need, k) => {
    requireAtLeast(`/demand/need/${k}`, need, 0);
  });
  requireAtLeast('/demand/throughput_bps', demand.throughput_bps, 0);
  requireAtLeast('/demand/latency_us', demand.latency_us, 0);
}
