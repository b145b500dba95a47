import { threeDigits } from '../figures.js';
import { exactPacking } from './exact.js';
import { modelOf, TOLERANCE } from './model.js';
import type { AcceleratorProblem, Demand, DeviceType, OpenDevice, Shortage } from './problem.js';

/** Steps of one search for a smaller set of conflicting constraints, and searches in all. */
const CONFLICT_STEPS = 100_000;
const CONFLICT_SEARCHES = 64;

/** A type of device beside one demand. */
export interface DeviceCandidate {
  readonly type: number;
  readonly chosen: boolean;
  /** Why not even an empty device suffices; `null`: it does. */
  readonly constraint: Shortage | null;
}

/** What a conflict says: `minimum` when no smaller set of constraints rules every packing out. */
export interface Conflict {
  readonly shortages: readonly Shortage[];
  readonly minimum: boolean;
}

/** Every device type for a demand, with the first constraint that rules it out. */
export function candidatesOf(problem: AcceleratorProblem, item: number, chosen: number | null): DeviceCandidate[] {
  return problem.types.map((type, t) => ({
    type: t,
    chosen: t === chosen,
    constraint: t === chosen ? null : (obstacles(problem, problem.demands[item]!, type)[0] ?? null),
  }));
}

/** All constraints for which an empty device of a type cannot carry a demand. */
function obstacles(problem: AcceleratorProblem, demand: Demand, type: DeviceType): Shortage[] {
  const { functions, dimensions } = problem;
  const out: Shortage[] = [];
  if (!type.functions.includes(demand.function)) out.push(short('function', 1, 0, functions[demand.function]!));
  if (type.latency_us > demand.latency_us) out.push(short('latency', type.latency_us, demand.latency_us, 'us'));
  dimensions.forEach(({ name, unit }, k) => {
    if (exceeds(demand.need[k]!, type.capacity[k]!)) out.push(short(name, demand.need[k]!, type.capacity[k]!, unit));
  });
  if (exceeds(demand.throughput_bps, type.throughput_bps))
    out.push(short('throughput', demand.throughput_bps, type.throughput_bps, 'bps'));
  if (type.count === 0) out.push(short('count', 1, 0, 'devices'));
  return out;

  function short(constraint: string, needed: number, available: number, unit: string): Shortage {
    return { constraint, needed, available, unit, where: type.id };
  }
}

export function exceeds(need: number, available: number): boolean {
  return need > available * (1 + TOLERANCE);
}

/**
 * The fewest kinds of constraints (function, latency, a dimension, throughput, count) that together leave no packing:
 * first for a demand that no empty device can carry, then for sums, then by searches in which the others are lifted.
 */
export function conflictOf(problem: AcceleratorProblem): Conflict {
  const lone = loneConflict(problem);
  if (lone && kindsIn(lone) === 1) return lone;
  const total = totalConflict(problem);
  if (total) return total;
  const searched = searchedConflict(problem);
  if (!lone || (searched.found && kindsIn(searched) < kindsIn(lone))) return searched;
  return { ...lone, minimum: searched.minimum };
}

function kindsIn({ shortages }: Conflict): number {
  return new Set(shortages.map(({ constraint }) => constraint)).size;
}

function loneConflict(problem: AcceleratorProblem): Conflict | null {
  let best: Shortage[] | null = null;
  for (const demand of problem.demands) {
    const against = problem.types.map((type) => obstacles(problem, demand, type));
    if (against.some((list) => list.length === 0)) continue;
    if (against.length === 0)
      return {
        shortages: [{ constraint: 'count', needed: 1, available: 0, unit: 'devices', where: demand.id }],
        minimum: true,
      };
    const kinds = [...new Set(against.flat().map(({ constraint }) => constraint))];
    const cover = smallest(kinds, (set) => against.every((list) => list.some((it) => set.includes(it.constraint))))!;
    if (best && cover.length >= new Set(best.map(({ constraint }) => constraint)).size) continue;
    best = against.map((list) => list.find((it) => cover.includes(it.constraint))!);
  }
  return best && { shortages: best, minimum: true };
}

/** A dimension in which all devices together lack capacity. */
function totalConflict({ dimensions, types, demands }: AcceleratorProblem): Conflict | null {
  const sums = [...dimensions.keys()].map((k) => ({
    ...dimensions[k]!,
    needed: demands.reduce((sum, { need }) => sum + need[k]!, 0),
    available: types.reduce((sum, { count, capacity }) => sum + count * capacity[k]!, 0),
  }));
  sums.push({
    name: 'throughput',
    unit: 'bps',
    needed: demands.reduce((sum, it) => sum + it.throughput_bps, 0),
    available: types.reduce((sum, it) => sum + it.count * it.throughput_bps, 0),
  });
  const short = sums.find(({ needed, available }) => exceeds(needed, available));
  if (!short) return null;
  const { name, unit, needed, available } = short;
  return { shortages: [{ constraint: name, needed, available, unit, where: 'all devices' }], minimum: true };
}

/** `found`: whether the kinds are known to rule every packing out. */
function searchedConflict(problem: AcceleratorProblem): Conflict & { readonly found: boolean } {
  const kinds = ['function', 'latency', ...problem.dimensions.map(({ name }) => name), 'throughput'];
  let sure = true;
  let searches = 0;
  const rulesOut = (set: readonly string[]): boolean => {
    if (++searches > CONFLICT_SEARCHES) {
      sure = false;
      return false;
    }
    const { devices, complete } = exactPacking(modelOf(lifted(problem, set)), null, { steps: CONFLICT_STEPS });
    if (!complete && devices === null) sure = false;
    return complete && devices === null;
  };
  const set = smallest(kinds, rulesOut);
  const placed = placeable(lifted(problem, set ?? kinds));
  return {
    shortages: (set ?? kinds).map((kind) => shortageOf(problem, kind, placed)),
    minimum: set !== null && sure,
    found: set !== null,
  };
}

/** Demands that were packed together, the largest left out first; fewer than all where nothing packs all. */
function placeable(problem: AcceleratorProblem): number {
  const part = ({ need, throughput_bps }: Demand) =>
    Math.max(
      ...problem.dimensions.map((_, k) => need[k]! / Math.max(...problem.types.map(({ capacity }) => capacity[k]!))),
      throughput_bps / Math.max(...problem.types.map((type) => type.throughput_bps)),
    );
  const demands = [...problem.demands].sort((a, b) => part(b) - part(a));
  while (demands.length > 0) {
    demands.shift();
    if (exactPacking(modelOf({ ...problem, demands }), null, { steps: CONFLICT_STEPS }).devices) break;
  }
  return demands.length;
}

/** What there is too little of, of a kind of constraint: in all, or for one demand more than were packed. */
function shortageOf(problem: AcceleratorProblem, kind: string, placed: number): Shortage {
  const total = totalOf(problem, kind);
  if (exceeds(total.needed, total.available)) return total;
  return { ...total, needed: placed + 1, available: placed, unit: 'demands' };
}

/** The figures of a kind of constraint over all demands and devices. */
function totalOf(problem: AcceleratorProblem, kind: string): Shortage {
  const { dimensions, types, demands } = problem;
  const where = types.map(({ id }) => id).join(', ');
  const k = dimensions.findIndex(({ name }) => name === kind);
  if (k >= 0 || kind === 'throughput') {
    const need = (it: Demand) => (k >= 0 ? it.need[k]! : it.throughput_bps);
    const have = (it: DeviceType) => (k >= 0 ? it.capacity[k]! : it.throughput_bps);
    return {
      constraint: kind,
      needed: demands.reduce((sum, it) => sum + need(it), 0),
      available: types.reduce((sum, it) => sum + it.count * have(it), 0),
      unit: k >= 0 ? dimensions[k]!.unit : 'bps',
      where,
    };
  }
  const able = (demand: Demand, type: DeviceType) =>
    kind === 'function' ? type.functions.includes(demand.function) : type.latency_us <= demand.latency_us;
  const scarcest = Math.min(
    types.reduce((sum, { count }) => sum + count, 0),
    ...demands.map((demand) => types.reduce((sum, type) => sum + (able(demand, type) ? type.count : 0), 0)),
  );
  return { constraint: kind, needed: demands.length, available: scarcest, unit: 'devices', where };
}

/** The problem with only some kinds of constraints. */
function lifted(problem: AcceleratorProblem, kinds: readonly string[]): AcceleratorProblem {
  const all = [...problem.functions.keys()];
  return {
    ...problem,
    types: problem.types.map((type) => ({
      ...type,
      functions: kinds.includes('function') ? type.functions : all,
      latency_us: kinds.includes('latency') ? type.latency_us : 0,
    })),
    demands: problem.demands.map((demand) => ({
      ...demand,
      need: demand.need.map((need, k) => (kinds.includes(problem.dimensions[k]!.name) ? need : 0)),
      throughput_bps: kinds.includes('throughput') ? demand.throughput_bps : 0,
    })),
  };
}

/** Above this number of kinds, subsets are no longer all tried: their number doubles with each. */
const MAX_TRIED_KINDS = 12;

/**
 * The smallest set that holds, in order of size; of many kinds one of which none can be left out. `null`: not even all of
 * them do. Precondition: a set that holds still holds with more in it.
 */
export function smallest<T>(from: readonly T[], holds: (set: readonly T[]) => boolean): T[] | null {
  if (from.length > MAX_TRIED_KINDS) return irreducible(from, holds);
  for (let size = 1; size <= from.length; size++) {
    const found = choose(from, size, 0, [], holds);
    if (found) return found;
  }
  return null;
}

function irreducible<T>(from: readonly T[], holds: (set: readonly T[]) => boolean): T[] | null {
  if (!holds(from)) return null;
  let set = [...from];
  for (const it of from) {
    const without = set.filter((other) => other !== it);
    if (holds(without)) set = without;
  }
  return set;
}

function choose<T>(
  from: readonly T[],
  size: number,
  start: number,
  set: T[],
  holds: (set: readonly T[]) => boolean,
): T[] | null {
  if (set.length === size) return holds(set) ? set : null;
  for (let i = start; i < from.length; i++) {
    const found = choose(from, size, i + 1, [...set, from[i]!], holds);
    if (found) return found;
  }
  return null;
}

/** Text of why a demand is placed where it is. */
export function because({ types, demands }: AcceleratorProblem, item: number, device: OpenDevice): string {
  const beside = device.demands.length - 1;
  const { id, cost } = types[device.type]!;
  const company = beside === 0 ? 'alone' : `beside ${beside} other${beside === 1 ? '' : 's'}`;
  return `${demands[item]!.id} stands ${company} on a ${id} of cost ${threeDigits(cost)}.`;
}
