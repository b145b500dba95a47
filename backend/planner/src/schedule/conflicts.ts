import { boundClasses } from './cpu-time.js';
import { obstacle } from './group-factors.js';
import type { ScheduleConflict, ScheduleProblem } from './problem.js';
import { FREE, type Region } from './region.js';
import type { Targets } from './targets.js';
import type { Tree } from './tree.js';

/** Why a region has no services in the constrained mode; `null` when it has. */
export function conflictOf(
  problem: ScheduleProblem,
  tree: Tree,
  targets: Targets,
  region: Region,
): ScheduleConflict | null {
  if (region.kind === 'throughput' || obstacle(region) === 0) return null;
  const pair = worstPair(region);
  const set = pair ?? leastSet(region);
  const { needy, other } = extremes(region, set);
  const limit = pair ? pairLimit(region, needy, other) * region.target[other]! : mostFor(region, set, needy);
  const rate = (k: number) => problem.classes[region.classes[k]!]!.rate_pps;
  const per = (rate(needy) / (rate(other) * region.target[other]!)) as number;
  const shared = set.length < 2 ? [] : sharedNodes(region, set);
  const modules = [...new Set(shared.map((v) => tree.module[region.node[v]!]!))].filter((module) => module >= 0);
  const classes = set.map((k) => region.classes[k]!);
  const name = (k: number) => problem.classes[region.classes[k]!]!.id;
  return {
    constraint: 'cpu-time',
    needed: region.target[needy]! * per,
    available: limit * per,
    unit: 'ratio of cycles',
    where: `class ${name(needy)} to class ${name(other)} behind ${modules.map((m) => problem.modules[m]!.id).join(', ')}`,
    classes,
    slos: tiesBetween(targets, classes),
    modules,
  };
}

/** Modules that at least two classes of the set pass. */
function sharedNodes(region: Region, set: readonly number[]): number[] {
  return [...region.parent.keys()].filter(
    (v) => set.filter((k) => region.first[v]! <= k && k < region.last[v]!).length >= 2,
  );
}

/**
 * The most that class `a` can get for each cycle of class `b` per packet: all of `b` is spent in the modules that both
 * share, and `a` runs on at the same service.
 */
function pairLimit(region: Region, a: number, b: number): number {
  let v = region.leaf[a]!;
  while (region.first[v]! > b || region.last[v]! <= b) v = region.parent[v]!;
  return region.depth[region.leaf[a]!]! / region.depth[v]!;
}

/** Two classes that conflict by themselves, those that do most. */
function worstPair(region: Region): number[] | null {
  let worst: number[] | null = null;
  let excess = 1;
  const m = region.leaf.length;
  for (let a = 0; a < m; a++) {
    for (let b = 0; b < m; b++) {
      if (a === b || region.group[a] === FREE || region.group[a] !== region.group[b]) continue;
      const over = region.target[a]! / region.target[b]! / pairLimit(region, a, b);
      if (over <= excess) continue;
      if (obstacle(region, only(m, [a, b])) === 0) continue;
      excess = over;
      worst = [a, b];
    }
  }
  return worst;
}

/** Classes that conflict although any one fewer would not. */
function leastSet(region: Region): number[] {
  const m = region.leaf.length;
  const kept = boundClasses(region);
  for (let step = Math.max(1, m >> 2); step >= 1; step >>= 1) {
    for (let from = 0; from < m; from += step) {
      const before = kept.slice(from, from + step);
      kept.fill(0, from, from + step);
      if (obstacle(region, kept) === 0) kept.set(before, from);
    }
  }
  return [...kept.keys()].filter((k) => kept[k] === 1);
}

function only(m: number, set: readonly number[]): Uint8Array {
  const out = new Uint8Array(m);
  for (const k of set) out[k] = 1;
  return out;
}

/** The classes of a set, tied to each other, that want most and least for what their paths cost. */
function extremes(region: Region, set: readonly number[]): { needy: number; other: number } {
  const want = (k: number) => region.target[k]! / region.depth[region.leaf[k]!]!;
  if (set.length === 2) {
    const [a, b] = set as [number, number];
    const over = (x: number, y: number) => region.target[x]! / region.target[y]! / pairLimit(region, x, y);
    return over(a, b) >= over(b, a) ? { needy: a, other: b } : { needy: b, other: a };
  }
  const groups = [...new Set(set.map((k) => region.group[k]!))].map((group) => {
    const tied = set.filter((k) => region.group[k] === group).sort((a, b) => want(b) - want(a));
    return { needy: tied[0]!, other: tied.at(-1)! };
  });
  return groups.reduce((a, b) => (want(b.needy) / want(b.other) > want(a.needy) / want(a.other) ? b : a));
}

/** The target of one class, nearest to what it wants, with which the set would not conflict. */
function mostFor(region: Region, set: readonly number[], needy: number): number {
  const considered = only(region.leaf.length, set);
  const target = Float64Array.from(region.target);
  const excess = (value: number) => {
    target[needy] = value;
    return obstacle({ ...region, target }, considered);
  };
  let [low, high] = [0, region.target[needy]!];
  for (let i = 0; i < 100; i++) {
    const [a, b] = [low + (high - low) / 3, high - (high - low) / 3];
    if (excess(a) <= excess(b)) high = b;
    else low = a;
  }
  let [good, bad] = [low, region.target[needy]!];
  for (let i = 0; i < 60; i++) {
    const middle = (good + bad) / 2;
    if (excess(middle) === 0) good = middle;
    else bad = middle;
  }
  return good;
}

/** Ratio SLOs on the ways between classes of a set. */
function tiesBetween(targets: Targets, classes: readonly number[]): number[] {
  const count = new Map<number, number>();
  for (const c of classes)
    for (let at = c; targets.via[at]! >= 0; at = targets.from[at]!)
      count.set(targets.via[at]!, (count.get(targets.via[at]!) ?? 0) + 1);
  return [...count].flatMap(([slo, times]) => (times < classes.length ? [slo] : [])).sort((a, b) => a - b);
}
